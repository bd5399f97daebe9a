/**
 * What allocators round a request up to, in bytes: PyTorch's CUDA caching allocator to 512 (c10/cuda/CUDACachingAllocator, kMinBlockSize),
 * TensorFlow's BFC allocator, which tfjs-node-gpu runs on, to 256 (bfc_allocator.h, kMinAllocationSize); host memory is
 * counted as requested. The device table holds PyTorch's unit; a tfjs trace brings its own in its header.
 */
export const allocationUnits = { pytorchCuda: 512, tensorflowGpu: 256, host: 1 } as const;
