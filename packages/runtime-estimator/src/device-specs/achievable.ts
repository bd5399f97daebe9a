/**
 * Share of the memory bandwidth that simple kernels reach. GPU: 2,903 of 3,350 GB/s in copies within an H100's memory.
 * CPU: 487 of 614 GB/s in STREAM's triad on its host (github.com/aigatech/vpbenchmarking).
 */
export const achievableMemory = { gpu: 0.87, cpu: 0.79 } as const;

/**
 * Host time to launch an op, in microseconds. PyTorch: 3 to 4 µs an op in forward and backward passes of tiny layers
 * (PyTorch 2.13, one core of an AMD EPYC), and 2 to 3 µs of the CUDA driver. TensorFlow.js: 9 µs for an addition, 17 µs
 * for a matrix product and up to 29 µs under gradients (tfjs-node 4.22, same core). Modules and your own code add to
 * this.
 */
export const hostLaunchUs: Readonly<Record<string, number>> = { pytorch: 6, tfjs: 15 };
