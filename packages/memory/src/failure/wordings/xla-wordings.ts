import type { Wording } from "./wording.js";

/** XLA on GPUs and TPUs, as JAX, Flax and PyTorch/XLA print it. */
export const xlaWordings: readonly Wording[] = [
  {
    name: "CuPy",
    kind: "framework",
    memory: "device",
    starts: ["Out of memory allocating "],
    followedBy: ["allocated so far"],
    fields: [
      "Out of memory allocating {asked:loose}",
      "allocated so far: {inUse:loose}",
      "limit set to: {allowed:loose}",
    ],
  },
  {
    name: "XLA",
    kind: "xla",
    memory: "device",
    starts: ["Out of memory while trying to allocate ", "Out of memory allocating "],
    fields: ["Out of memory while trying to allocate {asked:loose}", "Out of memory allocating {asked:loose}"],
  },
  {
    name: "GPU {device}",
    kind: "xla",
    memory: "device",
    starts: ["Failed to allocate request for "],
    fields: [
      "Failed to allocate request for {about:size} ({asked:loose})",
      "Failed to allocate request for {asked}",
      "on device ordinal {device:id}",
    ],
  },
  {
    name: "XLA",
    kind: "cuda-async",
    memory: "device",
    starts: ["cuMemAllocAsync failed to allocate "],
    fields: [
      "cuMemAllocAsync failed to allocate {asked:loose}",
      "Free memory/Total memory: {available:loose}/{limit:loose}",
      "InUse: {inUse:loose}",
      "MaxInUse: {peak:loose}",
    ],
  },
  {
    name: "The TPU",
    kind: "tpu",
    memory: "device",
    starts: ["Ran out of memory in memory space hbm"],
    fields: ["Used {asked:loose} of {limit:loose} hbm"],
    verdict: "full",
  },
  {
    name: "A TPU core",
    kind: "tpu",
    memory: "block",
    starts: ["Ran out of memory in memory space vmem", "Ran out of memory in memory space smem"],
    fields: ["Used {asked:loose} of {limit:loose}"],
  },
  {
    name: "The TPU",
    kind: "tpu",
    memory: "device",
    starts: ["Attempting to reserve ", "Attempting to allocate "],
    followedBy: ["That was not possible."],
    fields: [
      "Attempting to reserve {asked:loose}",
      "Attempting to allocate {asked:loose}",
      "There are {pooled:loose} free",
      "and {largestFree:loose} reservable",
      "the largest contiguous region of free memory is {largestFree:loose}",
    ],
  },
  {
    name: "The TPU",
    kind: "tpu",
    memory: "device",
    starts: ["Could not allocate "],
    followedBy: ["bytes allocatable"],
    fields: ["Could not allocate {asked:loose}", "; {largestFree:loose} allocatable, {pooled:loose} available"],
  },
  {
    name: "Triton",
    kind: "triton",
    memory: "block",
    starts: ["out of resource: shared memory", "out of resource: tensor memory", "out of resource: triton_"],
    fields: ["Required: {asked:loose}", "Hardware limit:{limit:loose}"],
  },
  {
    name: "A CUDA kernel",
    kind: "triton",
    memory: "block",
    starts: ["uses too much shared data"],
    fields: ["uses too much shared data ({asked:hex} bytes, {limit:hex} max)"],
  },
];
