import type { DeviceNetwork, DeviceSpec } from "@remat/trace";
import { allocationUnits } from "./allocation-units.js";

const GiB = 2 ** 30;

interface Figures {
  /** With tensor cores, where the device has them for float64. */
  readonly fp64: number;
  /** Without tensor cores: what a float32 product takes unless TF32 is asked for. */
  readonly fp32: number;
  readonly tf32?: number;
  /** Dense, accumulated in float32. */
  readonly fp16: number;
  /** Left out where the device has none: priced as float32. */
  readonly bf16?: number;
}

/** By generation what 16 lanes move in a second, each way: 8, 16 or 32 GT/s a lane in 130 bits for 128 (PCI Express Base Specification 3.0, 4.0, 5.0). */
const pcieGBps: Readonly<Record<number, number>> = { 3: 15.75, 4: 31.5, 5: 63 };

/** The generation of PCI Express that the datasheet names, with 16 lanes. */
const pcieOf: Readonly<Record<string, number>> = {
  a100: 4,
  "a100-40gb": 4,
  "a100-pcie": 4,
  h100: 5,
  "h100-pcie": 5,
  "h100-nvl": 5,
  h200: 5,
  l4: 4,
  l40s: 4,
  t4: 3,
  v100: 3,
  "v100-16gb": 3,
  "v100-pcie": 3,
  a10: 4,
  "rtx-4090": 4,
  "rtx-3090": 4,
};

/** What a network card sends for each device, in GB/s, in the vendor's own systems: DGX-1 (4 × 100 Gb/s for 8), DGX A100 (8 × 200), DGX H100 (8 × 400). */
const cardGBps = { dgx1: 6.25, dgxA100: 25, dgxH100: 50 } as const;

/** Devices whose datasheet names NVLink, by half of what it names, which is both ways together. */
const nvlinkOf: Readonly<Record<string, readonly [nodeGBps: number, betweenGBps: number]>> = {
  v100: [150, cardGBps.dgx1],
  "v100-16gb": [150, cardGBps.dgx1],
  a100: [300, cardGBps.dgxA100],
  "a100-40gb": [300, cardGBps.dgxA100],
  h100: [450, cardGBps.dgxH100],
  h200: [450, cardGBps.dgxH100],
};

/** Eight in a node, by NVLink or else PCI Express; a card of 100 Gb/s for each where no system of the vendor's is known. Latencies as NCCL's rings show them. */
function networkOf(name: string): DeviceNetwork {
  const [nodeGBps, betweenGBps] = nvlinkOf[name] ?? [pcieGBps[pcieOf[name]], 12.5];
  return { perNode: 8, nodeGBps, betweenGBps, latencyUs: 5 };
}

function gpu(name: string, peak: Figures, memoryGBps: number, memoryGiB: number, source: string): DeviceSpec {
  const { fp64, fp32, tf32, fp16, bf16 } = peak;
  return {
    name,
    tflops: {
      float64: fp64,
      float32: fp32,
      float16: fp16,
      ...(bf16 === undefined ? {} : { bfloat16: bf16 }),
      ...(tf32 === undefined ? {} : { tf32 }),
    },
    memoryGBps,
    memoryBytes: memoryGiB * GiB,
    linkGBps: pcieGBps[pcieOf[name]],
    network: networkOf(name),
    allocationUnitBytes: allocationUnits.pytorchCuda,
    source,
  };
}

const ampere = { fp64: 19.5, fp32: 19.5, tf32: 156, fp16: 312, bf16: 312 };
const hopper = { fp64: 67, fp32: 67, tf32: 494.7, fp16: 989.4, bf16: 989.4 };
const a100 = "NVIDIA A100 Tensor Core GPU datasheet (June 2021)";
const h100 = "NVIDIA H100 Tensor Core GPU datasheet; dense is half of the sparse figures printed there";
const v100 = "NVIDIA V100 Tensor Core GPU datasheet (January 2020)";

/** Peak dense figures of datasheets; no sparsity. */
export const nvidiaGpus: readonly DeviceSpec[] = [
  gpu("a100", ampere, 2039, 80, `${a100}: 80 GB SXM`),
  gpu("a100-40gb", ampere, 1555, 40, `${a100}: 40 GB SXM`),
  gpu("a100-pcie", ampere, 1935, 80, `${a100}: 80 GB PCIe`),
  gpu("h100", hopper, 3350, 80, `${h100}: SXM`),
  gpu("h100-pcie", { fp64: 51, fp32: 51, tf32: 378, fp16: 756, bf16: 756 }, 2000, 80, `${h100}: PCIe`),
  gpu("h100-nvl", { fp64: 60, fp32: 60, tf32: 417.5, fp16: 835.5, bf16: 835.5 }, 3900, 94, `${h100}: NVL`),
  gpu("h200", hopper, 4800, 141, "NVIDIA H200 Tensor Core GPU datasheet: SXM; dense is half of the sparse figures"),
  gpu("l4", { fp64: 0.47, fp32: 30.3, tf32: 60, fp16: 121, bf16: 121 }, 300, 24, "NVIDIA L4 datasheet; dense is half"),
  gpu(
    "l40s",
    { fp64: 1.43, fp32: 91.6, tf32: 183, fp16: 362, bf16: 362 },
    864,
    48,
    "NVIDIA L40S datasheet; float64 is 1/64 of float32",
  ),
  gpu("t4", { fp64: 0.25, fp32: 8.1, fp16: 65 }, 320, 16, "NVIDIA T4 datasheet; float64 is 1/32 of float32"),
  gpu("v100", { fp64: 7.8, fp32: 15.7, fp16: 125 }, 900, 32, `${v100}: 32 GB SXM2`),
  gpu("v100-16gb", { fp64: 7.8, fp32: 15.7, fp16: 125 }, 900, 16, `${v100}: 16 GB SXM2`),
  gpu("v100-pcie", { fp64: 7, fp32: 14, fp16: 112 }, 900, 32, `${v100}: 32 GB PCIe`),
  gpu(
    "a10",
    { fp64: 0.49, fp32: 31.2, tf32: 62.5, fp16: 125, bf16: 125 },
    600,
    24,
    "NVIDIA A10 datasheet; float64 is 1/64 of float32",
  ),
  gpu(
    "rtx-4090",
    { fp64: 1.29, fp32: 82.6, tf32: 82.6, fp16: 165.2, bf16: 165.2 },
    1008,
    24,
    "NVIDIA Ada GPU architecture whitepaper, appendix A: RTX 4090, tensor cores accumulating in float32",
  ),
  gpu(
    "rtx-3090",
    { fp64: 0.56, fp32: 35.6, tf32: 35.6, fp16: 71, bf16: 71 },
    936,
    24,
    "NVIDIA Ampere GA102 GPU architecture whitepaper: RTX 3090, tensor cores accumulating in float32",
  ),
];
