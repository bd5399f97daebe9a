import { discreteGpu, nodeOfEight } from "./discrete-gpu.js";
import type { KnownDevice } from "./known-device.js";

/** AMD GPUs, with the figures of datasheets without sparsity. */
export const amdGpus: readonly KnownDevice[] = [
  discreteGpu({
    name: "mi300x",
    otherNames: ["instinct-mi300x"],
    peaks: { fp64: 163.4, fp32: 163.4, tf32: 653.7, fp16: 1307.4, bf16: 1307.4 },
    // Maximum Achievable Matmul FLOPS, github.com/stas00/ml-engineering, compute/accelerator, 2026.
    achievableCompute: 0.514,
    memoryGBps: 5300,
    memoryGiB: 192,
    pcie: 5,
    // Seven Infinity Fabric links of 64 GB/s in each direction, and network cards of 8 × 400 Gb/s.
    node: nodeOfEight(448, 50),
    source: "AMD Instinct MI300X and MI300X Platform data sheets, matrix figures",
  }),
];
