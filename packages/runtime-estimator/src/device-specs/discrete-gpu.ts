import { type DeviceNetwork, type DeviceSpec, hostLaunchUs } from "@remat/trace";
import { achievableMemory } from "./achievable.js";
import { allocationUnits } from "./allocation-units.js";
import type { KnownDevice } from "./known-device.js";

const GiB = 2 ** 30;

/** Peak dense TFLOP/s. @internal */
export interface Peaks {
  /** With tensor cores, if these support float64. */
  readonly fp64: number;
  /** Without tensor cores, since float32 products use these only if TF32 is enabled. */
  readonly fp32: number;
  readonly tf32?: number;
  /** Dense, accumulated in float32. */
  readonly fp16: number;
  /** Undefined if the device does not support bfloat16. It is then estimated as float32. */
  readonly bf16?: number;
}

/** All figures of a GPU with its own memory. For a new GPU, state its links and the source. @internal */
export interface DiscreteGpu {
  readonly name: string;
  readonly otherNames?: readonly string[];
  readonly peaks: Peaks;
  /** Share of the peak that the best measured matrix product reaches, if known. */
  readonly achievableCompute?: number;
  readonly memoryGBps: number;
  readonly memoryGiB: number;
  /** Generation of PCI Express in the datasheet, with 16 lanes. */
  readonly pcie: keyof typeof pcieGBps;
  /** The system of eight in which the GPU is sold. `none` means that PCI Express connects the devices of a node. */
  readonly node: DeviceNetwork | "none";
  /** The document with the figures. */
  readonly source: string;
}

/**
 * Bandwidth of 16 lanes in each direction, in GB/s, by generation: 8, 16 or 32 GT/s per lane, 128 of 130 bits (PCI
 * Express Base Specification 3.0, 4.0, 5.0).
 */
const pcieGBps = { 3: 15.75, 4: 31.5, 5: 63 } as const;

/** Eight devices in a node, with typical latencies of NCCL rings. @internal */
export const nodeOfEight = (nodeGBps: number, betweenGBps: number): DeviceNetwork => ({
  perNode: 8,
  nodeGBps,
  betweenGBps,
  latencyUs: 5,
});

/** The network of a device without a known system of the vendor: a network card of 100 Gb/s for each device. */
const overPcie = (linkGBps: number): DeviceNetwork => nodeOfEight(linkGBps, 12.5);

/** Returns a GPU with the links and the launch costs that all GPUs of its kind share. @internal */
export function discreteGpu(gpu: DiscreteGpu): KnownDevice {
  const { name, otherNames = [], peaks, achievableCompute, memoryGBps, memoryGiB, pcie, node, source } = gpu;
  const { fp64, fp32, tf32, fp16, bf16 } = peaks;
  const linkGBps = pcieGBps[pcie];
  const spec: DeviceSpec = {
    name,
    tflops: {
      float64: fp64,
      float32: fp32,
      float16: fp16,
      ...(bf16 === undefined ? {} : { bfloat16: bf16 }),
      ...(tf32 === undefined ? {} : { tf32 }),
    },
    memoryGBps,
    achievable: {
      ...(achievableCompute === undefined ? {} : { compute: achievableCompute }),
      memory: achievableMemory.gpu,
    },
    launchUs: hostLaunchUs,
    memoryBytes: memoryGiB * GiB,
    linkGBps,
    network: node === "none" ? overPcie(linkGBps) : node,
    allocationUnitBytes: allocationUnits.pytorchCuda,
    source,
  };
  return { spec, label: name.toUpperCase().replaceAll("-", " "), otherNames };
}
