import type { DeviceNetwork } from "@remat/trace";
import { type DiscreteGpu, discreteGpu, nodeOfEight, type Peaks } from "./discrete-gpu.js";
import type { KnownDevice } from "./known-device.js";

// The vendor's own systems. NVLink is half of the datasheet figure, which adds both directions. Between nodes it is
// each device's share of the network cards.
/** Network cards: 4 × 100 Gb/s for 8 devices. */
const dgx1: DeviceNetwork = nodeOfEight(150, 6.25);
/** Network cards: 8 × 200 Gb/s. */
const dgxA100: DeviceNetwork = nodeOfEight(300, 25);
/** Network cards: 8 × 400 Gb/s. */
const dgxH100: DeviceNetwork = nodeOfEight(450, 50);
/** Network cards: 8 × 400 Gb/s. */
const dgxB200: DeviceNetwork = nodeOfEight(900, 50);

/**
 * Shares of the peak that the best of many bfloat16 matrix products reached (Maximum Achievable Matmul FLOPS,
 * github.com/stas00/ml-engineering, compute/accelerator, 2026).
 */
const bestProduct = { a100: 0.869, a100Pcie: 0.811, hopper: 0.803, b200: 0.776 } as const;

const ampere: Peaks = { fp64: 19.5, fp32: 19.5, tf32: 156, fp16: 312, bf16: 312 };
const hopper: Peaks = { fp64: 67, fp32: 67, tf32: 494.7, fp16: 989.4, bf16: 989.4 };
const volta: Peaks = { fp64: 7.8, fp32: 15.7, fp16: 125 };
const a100 = "NVIDIA A100 Tensor Core GPU datasheet (June 2021)";
const h100 = "NVIDIA H100 Tensor Core GPU datasheet; dense is half of the sparse figures printed there";
const v100 = "NVIDIA V100 Tensor Core GPU datasheet (January 2020)";

/** Peak dense figures of datasheets, without sparsity. */
const gpus: readonly DiscreteGpu[] = [
  {
    name: "a100",
    otherNames: ["a100-80gb", "a100-sxm"],
    peaks: ampere,
    achievableCompute: bestProduct.a100,
    memoryGBps: 2039,
    memoryGiB: 80,
    pcie: 4,
    node: dgxA100,
    source: `${a100}: 80 GB SXM`,
  },
  {
    name: "a100-40gb",
    peaks: ampere,
    achievableCompute: bestProduct.a100,
    memoryGBps: 1555,
    memoryGiB: 40,
    pcie: 4,
    node: dgxA100,
    source: `${a100}: 40 GB SXM`,
  },
  {
    name: "a100-pcie",
    peaks: ampere,
    achievableCompute: bestProduct.a100Pcie,
    memoryGBps: 1935,
    memoryGiB: 80,
    pcie: 4,
    node: "none",
    source: `${a100}: 80 GB PCIe`,
  },
  {
    name: "h100",
    otherNames: ["h100-sxm"],
    peaks: hopper,
    achievableCompute: bestProduct.hopper,
    memoryGBps: 3350,
    memoryGiB: 80,
    pcie: 5,
    node: dgxH100,
    source: `${h100}: SXM`,
  },
  {
    name: "h100-pcie",
    peaks: { fp64: 51, fp32: 51, tf32: 378, fp16: 756, bf16: 756 },
    memoryGBps: 2000,
    memoryGiB: 80,
    pcie: 5,
    node: "none",
    source: `${h100}: PCIe`,
  },
  {
    name: "h100-nvl",
    peaks: { fp64: 60, fp32: 60, tf32: 417.5, fp16: 835.5, bf16: 835.5 },
    memoryGBps: 3900,
    memoryGiB: 94,
    pcie: 5,
    node: "none",
    source: `${h100}: NVL`,
  },
  {
    name: "h200",
    otherNames: ["h200-sxm"],
    peaks: hopper,
    achievableCompute: bestProduct.hopper,
    memoryGBps: 4800,
    memoryGiB: 141,
    pcie: 5,
    node: dgxH100,
    source: "NVIDIA H200 Tensor Core GPU datasheet: SXM; dense is half of the sparse figures",
  },
  {
    name: "b200",
    otherNames: ["b200-sxm"],
    peaks: { fp64: 37, fp32: 75, tf32: 1125, fp16: 2250, bf16: 2250 },
    achievableCompute: bestProduct.b200,
    memoryGBps: 8000,
    memoryGiB: 180,
    pcie: 5,
    node: dgxB200,
    source: "NVIDIA DGX B200 and HGX B200 datasheets: an eighth; dense is half of the sparse figures",
  },
  {
    name: "l4",
    peaks: { fp64: 0.47, fp32: 30.3, tf32: 60, fp16: 121, bf16: 121 },
    memoryGBps: 300,
    memoryGiB: 24,
    pcie: 4,
    node: "none",
    source: "NVIDIA L4 datasheet; dense is half",
  },
  {
    name: "l40s",
    peaks: { fp64: 1.43, fp32: 91.6, tf32: 183, fp16: 362, bf16: 362 },
    memoryGBps: 864,
    memoryGiB: 48,
    pcie: 4,
    node: "none",
    source: "NVIDIA L40S datasheet; float64 is 1/64 of float32",
  },
  {
    name: "t4",
    peaks: { fp64: 0.25, fp32: 8.1, fp16: 65 },
    memoryGBps: 320,
    memoryGiB: 16,
    pcie: 3,
    node: "none",
    source: "NVIDIA T4 datasheet; float64 is 1/32 of float32",
  },
  {
    name: "v100",
    otherNames: ["v100-32gb", "v100-sxm2"],
    peaks: volta,
    memoryGBps: 900,
    memoryGiB: 32,
    pcie: 3,
    node: dgx1,
    source: `${v100}: 32 GB SXM2`,
  },
  {
    name: "v100-16gb",
    peaks: volta,
    memoryGBps: 900,
    memoryGiB: 16,
    pcie: 3,
    node: dgx1,
    source: `${v100}: 16 GB SXM2`,
  },
  {
    name: "v100-pcie",
    peaks: { fp64: 7, fp32: 14, fp16: 112 },
    memoryGBps: 900,
    memoryGiB: 32,
    pcie: 3,
    node: "none",
    source: `${v100}: 32 GB PCIe`,
  },
  {
    name: "a10",
    peaks: { fp64: 0.49, fp32: 31.2, tf32: 62.5, fp16: 125, bf16: 125 },
    memoryGBps: 600,
    memoryGiB: 24,
    pcie: 4,
    node: "none",
    source: "NVIDIA A10 datasheet; float64 is 1/64 of float32",
  },
  {
    name: "rtx-4090",
    peaks: { fp64: 1.29, fp32: 82.6, tf32: 82.6, fp16: 165.2, bf16: 165.2 },
    memoryGBps: 1008,
    memoryGiB: 24,
    pcie: 4,
    node: "none",
    source: "NVIDIA Ada GPU architecture whitepaper, appendix A: RTX 4090, tensor cores accumulating in float32",
  },
  {
    name: "rtx-5090",
    peaks: { fp64: 1.64, fp32: 104.8, tf32: 104.8, fp16: 209.5, bf16: 209.5 },
    memoryGBps: 1792,
    memoryGiB: 32,
    pcie: 5,
    node: "none",
    source: "NVIDIA RTX Blackwell GPU architecture whitepaper: RTX 5090, tensor cores accumulating in float32",
  },
  {
    name: "rtx-3090",
    peaks: { fp64: 0.56, fp32: 35.6, tf32: 35.6, fp16: 71, bf16: 71 },
    memoryGBps: 936,
    memoryGiB: 24,
    pcie: 4,
    node: "none",
    source: "NVIDIA Ampere GA102 GPU architecture whitepaper: RTX 3090, tensor cores accumulating in float32",
  },
];

/** NVIDIA GPUs, each with its links, network and source. */
export const nvidiaGpus: readonly KnownDevice[] = gpus.map(discreteGpu);
