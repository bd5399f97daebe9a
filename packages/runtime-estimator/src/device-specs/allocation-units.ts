/**
 * Multiples to which allocators round up a request, in bytes. PyTorch's CUDA caching allocator uses 512
 * (c10/cuda/CUDACachingAllocator, kMinBlockSize). TensorFlow's BFC allocator, which tfjs-node-gpu uses, has 256
 * (bfc_allocator.h, kMinAllocationSize). Host memory counts as requested. The device table contains PyTorch's unit, and
 * a TensorFlow.js trace has its own in its header.
 */
export const allocationUnits = { pytorchCuda: 512, tensorflowGpu: 256, host: 1 } as const;
