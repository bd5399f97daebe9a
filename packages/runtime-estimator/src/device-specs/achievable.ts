/**
 * Share of the memory bandwidth that simple kernels reach. GPU: 2,903 of 3,350 GB/s in copies within an H100's memory.
 * CPU: 487 of 614 GB/s in STREAM's triad on its host (github.com/aigatech/vpbenchmarking).
 */
export const achievableMemory = { gpu: 0.87, cpu: 0.79 } as const;
