import type { Wording } from "./wording.js";

/** From c10's `CUDACachingAllocator.cpp`: the sentences of release 2.0 and later, then the parentheses before. */
const cachingAllocatorFields = [
  "Tried to allocate {asked}",
  "GPU {device:id}",
  "NPU {device:id}",
  "total capacity of {limit}",
  "total capacty of {limit}",
  "{limit} total capacity",
  "of which {available} is free",
  "{available} free;",
  "{allowed} allowed;",
  "this process has {own} memory in use",
  "{inUse} is allocated by PyTorch",
  "{inUse} already allocated",
  "{pooled} is reserved by PyTorch but unallocated",
  "{pooled} cached",
  "{reserved} reserved in total by PyTorch",
];

const moreThanAnExabyte = ["Tried to allocate more than "];

const cachingAllocator = {
  memory: "device",
  fields: cachingAllocatorFields,
  lastFields: ["pooled", "reserved"],
  absurdIf: moreThanAnExabyte,
} as const;

/** PyTorch's allocators, one entry for each backend and wording. */
export const pytorchWordings: readonly Wording[] = [
  { name: "GPU {device}", kind: "cuda", starts: ["CUDA out of memory."], ...cachingAllocator },
  { name: "GPU {device}", kind: "hip", starts: ["HIP out of memory."], ...cachingAllocator },
  { name: "GPU {device}", kind: "xpu", starts: ["XPU out of memory."], ...cachingAllocator },
  { name: "NPU {device}", kind: "npu", starts: ["NPU out of memory."], ...cachingAllocator },
  {
    name: "GPU {device}",
    kind: "cuda-async",
    memory: "device",
    starts: ["Allocation on device "],
    followedBy: ["would exceed allowed memory"],
    fields: [
      "Allocation on device {device:id}",
      "Requested : {asked}",
      "Device limit : {limit}",
      "Free (according to CUDA): {available}",
      "Currently allocated : {inUse}",
      "PyTorch limit (set by user-supplied memory fraction) : {allowed:loose}",
    ],
  },
  {
    name: "MPS",
    kind: "mps",
    memory: "device",
    starts: ["MPS backend out of memory"],
    fields: [
      "MPS allocated: {inUse:loose}",
      "other allocations: {context:loose}",
      "max allowed: {allowed:loose}",
      "Tried to allocate {asked:loose}",
    ],
  },
  {
    name: "MPS",
    kind: "mps",
    memory: "device",
    starts: ["Invalid buffer size: "],
    fields: ["Invalid buffer size: {asked:loose}"],
    verdict: "absurd",
  },
  {
    name: "Metal",
    kind: "mps",
    memory: "device",
    starts: ["Failed to allocate private MTLBuffer for size ", "Failed to allocate shared MTLBuffer for size "],
    fields: ["MTLBuffer for size {asked:loose}"],
  },
  {
    name: "MLX",
    kind: "mps",
    memory: "device",
    starts: ["[metal::malloc] Attempting to allocate "],
    fields: ["Attempting to allocate {asked:loose}", "greater than the maximum allowed buffer size of {limit:loose}"],
    verdict: "absurd",
  },
  {
    name: "PyTorch's CPU allocator",
    kind: "cpu",
    memory: "host",
    starts: ["DefaultCPUAllocator: ", "$ Torch: not enough memory: "],
    fields: ["you tried to allocate {asked:loose}"],
  },
  {
    name: "PyTorch",
    kind: "cpu",
    memory: "host",
    starts: ["unable to mmap "],
    followedBy: ["Cannot allocate memory"],
    fields: ["unable to mmap {asked:loose}"],
  },
  {
    name: "PyTorch",
    kind: "cpu",
    starts: ["Storage size calculation overflowed with sizes="],
    fields: ["sizes={shape:list}"],
    verdict: "absurd",
  },
  {
    name: "A Gaudi device",
    kind: "framework",
    memory: "device",
    starts: ["Allocation failed for size::"],
    fields: ["Allocation failed for size::{asked:loose}"],
  },
];

/** PyTorch's errors that have no sizes, or lack their beginning. */
export const pytorchSymptoms: readonly Wording[] = [
  {
    name: "GPU {device}",
    kind: "cuda",
    memory: "device",
    starts: ["Tried to allocate "],
    followedBy: ["total capacity", "total capacty"],
    fields: cachingAllocatorFields,
  },
  {
    name: "The CUDA driver",
    kind: "driver",
    memory: "device",
    starts: [
      "CUDA error: out of memory",
      "CUDA driver error: out of memory",
      "CUDA Error: out of memory",
      "cuda runtime error (2) : out of memory",
      "cudaErrorMemoryAllocation",
      "CUDA_ERROR_OUT_OF_MEMORY",
    ],
  },
  {
    name: "The CUDA driver",
    kind: "driver",
    memory: "device",
    starts: ["CUDA error 2 at ", "CUDA runtime implicit initialization on GPU"],
    followedBy: ["out of memory"],
  },
  {
    name: "The HIP driver",
    kind: "driver",
    memory: "device",
    starts: ["HIP error: out of memory", "hipErrorOutOfMemory"],
  },
  {
    name: "The Level Zero driver",
    kind: "xpu",
    memory: "device",
    starts: [
      "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
      "UR_RESULT_ERROR_OUT_OF_RESOURCES",
      "PI_ERROR_OUT_OF_RESOURCES",
      "PI_ERROR_OUT_OF_DEVICE_MEMORY",
    ],
  },
  {
    name: "The Level Zero driver",
    kind: "host",
    memory: "host",
    starts: ["UR_RESULT_ERROR_OUT_OF_HOST_MEMORY", "PI_ERROR_OUT_OF_HOST_MEMORY"],
  },
  {
    name: "Metal",
    kind: "mps",
    memory: "device",
    starts: ["kIOGPUCommandBufferCallbackErrorOutOfMemory"],
  },
  {
    name: "PyTorch",
    kind: "cuda",
    memory: "device",
    starts: ["torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError", "Allocation on device "],
  },
];
