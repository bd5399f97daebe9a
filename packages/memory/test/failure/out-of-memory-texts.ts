import type { AllocatorLog, AllocatorVerdict } from "../../src/failure/index.js";

/** An out-of-memory text, written after public reports with other figures, and what is true of it. */
export interface OutOfMemoryText {
  readonly of: string;
  readonly text: string;
  /** The reasons, one for each device or process that reports. */
  readonly verdicts: readonly AllocatorVerdict[];
  /** Fields of the last report. */
  readonly log?: Partial<AllocatorLog>;
}

const KiB = 2 ** 10;
const MiB = 2 ** 20;
const GiB = 2 ** 30;
const mib = (n: number): number => Math.round(n * MiB);
const gib = (n: number): number => Math.round(n * GiB);

const hint =
  "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";

const cuda: readonly OutOfMemoryText[] = [
  {
    of: "PyTorch 0.3",
    text: "RuntimeError: cuda runtime error (2) : out of memory at /opt/conda/conda-bld/pytorch_1518243271935/work/torch/lib/THC/generic/THCStorage.cu:66",
    verdicts: ["unknown"],
    log: { kind: "driver", memory: "device", askedBytes: undefined },
  },
  {
    of: "PyTorch 0.4.1",
    text: "    return torch._C._nn.linear(x, w)\nRuntimeError: CUDA error: out of memory",
    verdicts: ["unknown"],
    log: { memory: "device" },
  },
  {
    of: "PyTorch 1.0, with much in its cache",
    text: "RuntimeError: CUDA out of memory. Tried to allocate 1.12 GiB (GPU 1; 7.79 GiB total capacity; 5.03 GiB already allocated; 609.31 MiB free; 1.26 GiB cached)",
    verdicts: ["fragmented"],
    log: { name: "GPU 1", askedBytes: gib(1.12), pooledBytes: gib(1.26) },
  },
  {
    of: "PyTorch 1.2, with inactive memory",
    text: "RuntimeError: CUDA out of memory. Tried to allocate 102.00 MiB (GPU 0; 10.73 GiB total capacity; 9.58 GiB already allocated; 21.56 MiB free; 34.44 MiB cached; 0 bytes inactive)",
    verdicts: ["full"],
    log: { pooledBytes: mib(34.44), othersBytes: 0 },
  },
  {
    of: "PyTorch 1.5",
    text: "RuntimeError: CUDA out of memory. Tried to allocate 25.00 MiB (GPU 0; 3.94 GiB total capacity; 2.97 GiB already allocated; 15.25 MiB free; 2.98 GiB reserved in total by PyTorch)",
    verdicts: ["full"],
    log: { availableBytes: mib(15.25), othersBytes: 0 },
  },
  {
    of: "PyTorch 1.11, with a third reserved and not in use",
    text: "RuntimeError: CUDA out of memory. Tried to allocate 3.02 GiB (GPU 0; 23.65 GiB total capacity; 14.31 GiB already allocated; 1.29 GiB free; 21.14 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
    verdicts: ["fragmented"],
    log: { pooledBytes: gib(21.14) - gib(14.31) },
  },
  {
    of: "PyTorch 1.12 on a GPU that others fill",
    text: "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 3; 10.76 GiB total capacity; 0 bytes already allocated; 8.44 MiB free; 0 bytes reserved in total by PyTorch)",
    verdicts: ["other-process"],
    log: { name: "GPU 3", inUseBytes: 0 },
  },
  {
    of: "PyTorch 1.10 with a memory fraction, and free memory",
    text: "RuntimeError: CUDA out of memory. Tried to allocate 520.00 MiB (GPU 0; 12.00 GiB total capacity; 4.29 GiB already allocated; 6.38 GiB free; 4.75 GiB allowed; 4.51 GiB reserved in total by PyTorch)",
    verdicts: ["limited"],
    log: { allowedBytes: gib(4.75), availableBytes: gib(6.38) },
  },
  {
    of: "PyTorch 1.13 with a memory fraction, and little free memory",
    text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 12.00 GiB total capacity; 9.01 GiB already allocated; 611.00 MiB free; 9.60 GiB allowed; 9.21 GiB reserved in total by PyTorch)",
    verdicts: ["limited"],
  },
  {
    of: "PyTorch 2.0 on Windows, with more than the GPU has",
    text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.09 GiB (GPU 0; 8.00 GiB total capacity; 15.31 GiB already allocated; 0 bytes free; 16.04 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
    verdicts: ["full"],
  },
  {
    of: "PyTorch 2.0 with more free than was requested",
    text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 MiB (GPU 0; 8.00 GiB total capacity; 6.12 MiB already allocated; 6.79 GiB free; 8.00 MiB reserved in total by PyTorch)",
    verdicts: ["driver"],
  },
  {
    of: "PyTorch 2.1",
    text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.41 GiB. GPU 0 has a total capacty of 79.11 GiB of which 2.91 GiB is free. Including non-PyTorch memory, this process has 76.19 GiB memory in use. Of the allocated memory 72.40 GiB is allocated by PyTorch, and 1.83 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.",
    verdicts: ["full"],
    log: { limitBytes: gib(79.11), ownBytes: gib(76.19), othersBytes: 0 },
  },
  {
    of: "PyTorch 2.2, in pieces",
    text: `torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 474.00 MiB. GPU 0 has a total capacity of 23.70 GiB of which 112.56 MiB is free. Including non-PyTorch memory, this process has 23.58 GiB memory in use. Of the allocated memory 18.31 GiB is allocated by PyTorch, and 3.71 GiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["fragmented"],
    log: { pooledBytes: gib(3.71) },
  },
  {
    of: "a device with a few pieces",
    text: `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.68 GiB of which 9.06 MiB is free. Including non-PyTorch memory, this process has 23.64 GiB memory in use. Of the allocated memory 23.31 GiB is allocated by PyTorch, and 19.50 MiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["fragmented"],
  },
  {
    of: "PyTorch 2.4 beside a server that is named",
    text: `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 300.00 MiB. GPU 0 has a total capacity of 44.39 GiB of which 12.06 MiB is free. Process 6311 has 8.09 GiB memory in use. Including non-PyTorch memory, this process has 36.28 GiB memory in use. Of the allocated memory 35.61 GiB is allocated by PyTorch, and 171.20 MiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["other-process"],
    log: { processes: [{ pid: 6311, bytes: gib(8.09) }], pooledBytes: mib(171.2) },
  },
  {
    of: "PyTorch 2.5 beside processes of another container",
    text: `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.15 GiB of which 30.69 MiB is free. Including non-PyTorch memory, this process has 41.02 GiB memory in use. Of the allocated memory 40.30 GiB is allocated by PyTorch, and 201.11 MiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["other-process"],
    log: { processes: undefined, othersBytes: gib(79.15) - mib(30.69) - gib(41.02) },
  },
  {
    of: "PyTorch 2.5 in a container that hides its own process id",
    text: `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 174.00 MiB. GPU 0 has a total capacity of 14.75 GiB of which 24.81 MiB is free. Process 4071 has 14.72 GiB memory in use. Of the allocated memory 13.61 GiB is allocated by PyTorch, and 98.00 MiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["full"],
    log: { processes: undefined },
  },
  {
    of: "PyTorch 2.6 with CUDA graphs",
    text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 192.00 MiB. GPU 0 has a total capacity of 23.52 GiB of which 95.88 MiB is free. Including non-PyTorch memory, this process has 23.41 GiB memory in use. Of the allocated memory 20.11 GiB is allocated by PyTorch, with 1.52 GiB allocated in private pools (e.g., CUDA Graphs), and 87.30 MiB is reserved by PyTorch but unallocated.",
    verdicts: ["full"],
    log: { inUseBytes: gib(20.11), pooledBytes: mib(87.3) },
  },
  {
    of: "PyTorch 2.9, with its new variable",
    text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 7.62 GiB of which 23.06 MiB is free. Including non-PyTorch memory, this process has 7.57 GiB memory in use. Of the allocated memory 6.03 GiB is allocated by PyTorch, and 1.36 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
    verdicts: ["fragmented"],
  },
  {
    of: "PyTorch 2.8 with a memory fraction",
    text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 47.44 GiB of which 34.02 GiB is free. 14.23 GiB allowed; Including non-PyTorch memory, this process has 13.42 GiB memory in use. Of the allocated memory 12.80 GiB is allocated by PyTorch, and 110.20 MiB is reserved by PyTorch but unallocated.",
    verdicts: ["limited"],
    log: { allowedBytes: gib(14.23) },
  },
  {
    of: "PyTorch under WSL, with more free than was requested",
    text: `CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 2.81 GiB is free. Of the allocated memory 249.49 MiB is allocated by PyTorch, and 100.51 MiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["driver"],
  },
  {
    of: "PyTorch with three processes that allocate at once",
    text: `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 66.00 MiB. GPU 0 has a total capacity of 23.62 GiB of which 203.12 MiB is free. Process 9011 has 354.17 MiB memory in use. Including non-PyTorch memory, this process has 8.02 GiB memory in use. Process 9029 has 15.01 GiB memory in use. Of the allocated memory 7.66 GiB is allocated by PyTorch, and 30.29 MiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["other-process"],
  },
  {
    of: "PyTorch, a matrix of attention scores larger than the GPU",
    text: `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 GiB. GPU 0 has a total capacity of 23.99 GiB of which 20.11 GiB is free. Including non-PyTorch memory, this process has 3.87 GiB memory in use. Of the allocated memory 3.35 GiB is allocated by PyTorch, and 12.03 MiB is reserved by PyTorch but unallocated. ${hint}`,
    verdicts: ["absurd"],
  },
  {
    of: "PyTorch, a shape that overflowed",
    text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
    verdicts: ["absurd"],
    log: { askedBytes: undefined },
  },
  {
    of: "PyTorch, wrapped by a terminal",
    text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.98 GiB.\nGPU 0 has a total capacity of 15.56 GiB of which 137.00 MiB is free.\nIncluding non-PyTorch memory, this process has 15.41 GiB memory in\nuse. Of the allocated memory 14.66 GiB is allocated by PyTorch, and 0.27 GiB\nis reserved by PyTorch but unallocated.",
    verdicts: ["full"],
    log: { ownBytes: gib(15.41), pooledBytes: gib(0.27), truncated: false },
  },
  {
    of: "PyTorch, cut off by a logger",
    text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 298.00 MiB. GPU 0 has a total capacity of 44.39 GiB of which 12.06 MiB is free. Proc",
    verdicts: ["unknown"],
    log: { askedBytes: 298 * MiB, truncated: true },
  },
  {
    of: "PyTorch, pasted without its beginning",
    text: "Tried to allocate 50.00 MiB (GPU 0; 1.96 GiB total capacity; 1.24 GiB already allocated; 2.88 MiB free; 1.25 GiB reserved in total by PyTorch)",
    verdicts: ["full"],
    log: { askedBytes: 50 * MiB },
  },
  {
    of: "two ranks under torchrun",
    text: [
      `[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.30 GiB. GPU 1 has a total capacity of 63.99 GiB of which 1.17 GiB is free. Including non-PyTorch memory, this process has 62.80 GiB memory in use. Of the allocated memory 60.66 GiB is allocated by PyTorch, and 728.00 MiB is reserved by PyTorch but unallocated. ${hint}`,
      `[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.30 GiB. GPU 0 has a total capacity of 63.99 GiB of which 1.17 GiB is free. Process 1201 has 24.27 GiB memory in use. Including non-PyTorch memory, this process has 38.55 GiB memory in use. Of the allocated memory 36.40 GiB is allocated by PyTorch, and 728.00 MiB is reserved by PyTorch but unallocated. ${hint}`,
      "[rank0]:[W1129 10:00:00.000000000 ProcessGroupNCCL.cpp:1250] Warning: process group has NOT been destroyed",
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
      "  exitcode  : 1 (pid: 1200)",
    ].join("\n"),
    verdicts: ["full", "other-process"],
    log: { reporter: "rank 0", name: "GPU 0" },
  },
  {
    of: "a rank whose GPU is full, and others that the launcher then kills",
    text: [
      `[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 3 has a total capacity of 39.39 GiB of which 301.06 MiB is free. Including non-PyTorch memory, this process has 39.08 GiB memory in use. Of the allocated memory 37.90 GiB is allocated by PyTorch, and 311.20 MiB is reserved by PyTorch but unallocated. ${hint}`,
      "E1129 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 0 (pid: 41)",
    ].join("\n"),
    verdicts: ["full"],
    log: { name: "GPU 3" },
  },
  {
    of: "the same error twice: with and without its rank",
    text: [
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 10.00 GiB of which 10.00 MiB is free. Including non-PyTorch memory, this process has 9.95 GiB memory in use. Of the allocated memory 9.40 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.",
      "train failed: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 10.00 GiB of which 10.00 MiB is free. Including non-PyTorch memory, this process has 9.95 GiB memory in use. Of the allocated memory 9.40 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.",
    ].join("\n"),
    verdicts: ["full"],
    log: { reporter: "rank 0" },
  },
  {
    of: "PyTorch with cudaMallocAsync",
    text: "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 15.11 GiB\nRequested               : 513.00 MiB\nDevice limit            : 15.99 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
    verdicts: ["full"],
    log: { kind: "cuda-async", name: "GPU 0", askedBytes: 513 * MiB, allowedBytes: undefined },
  },
  {
    of: "PyTorch with cudaMallocAsync and a memory fraction",
    text: "Allocation on device 1 would exceed allowed memory. (out of memory)\nCurrently allocated     : 9.43 GiB\nRequested               : 640.00 MiB\nDevice limit            : 19.99 GiB\nFree (according to CUDA): 9.12 GiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 10.00 GiB",
    verdicts: ["limited"],
    log: { name: "GPU 1", allowedBytes: 10 * GiB },
  },
  {
    of: "ComfyUI, without sizes",
    text: "torch.OutOfMemoryError: Allocation on device \nThis error means you ran out of memory on your GPU.",
    verdicts: ["unknown"],
    log: { memory: "device" },
  },
  {
    of: "PyTorch 2.9's AcceleratorError",
    text: "torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\nCUDA kernel errors might be asynchronously reported at some other API call",
    verdicts: ["unknown"],
    log: { kind: "driver", memory: "device" },
  },
  {
    of: "llama.cpp in 2023",
    text: "CUDA error 2 at ggml-cuda.cu:7233: out of memory",
    verdicts: ["unknown"],
    log: { kind: "driver", memory: "device" },
  },
  {
    of: "TensorFlow at its start",
    text: "tensorflow.python.framework.errors_impl.InternalError: CUDA runtime implicit initialization on GPU:0 failed. Status: out of memory",
    verdicts: ["unknown"],
    log: { kind: "driver" },
  },
  {
    of: "the CUDA driver under torch.compile",
    text: "RuntimeError: CUDA driver error: out of memory",
    verdicts: ["unknown"],
    log: { kind: "driver" },
  },
];

const otherAccelerators: readonly OutOfMemoryText[] = [
  {
    of: "ROCm, full",
    text: "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.27 GiB. GPU 0 has a total capacity of 15.98 GiB of which 1.12 GiB is free. Of the allocated memory 14.46 GiB is allocated by PyTorch, and 66.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
    verdicts: ["full"],
    log: { kind: "hip" },
  },
  {
    of: "ROCm on an integrated GPU",
    text: "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.41 GiB. GPU 0 has a total capacity of 62.31 GiB of which 41.77 GiB is free. Of the allocated memory 19.81 GiB is allocated by PyTorch, and 310.00 MiB is reserved by PyTorch but unallocated.",
    verdicts: ["driver"],
    log: { kind: "hip" },
  },
  {
    of: "ROCm, in pieces",
    text: "RuntimeError: HIP out of memory. Tried to allocate 768.00 MiB (GPU 0; 15.98 GiB total capacity; 11.02 GiB already allocated; 402.00 MiB free; 14.91 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
    verdicts: ["fragmented"],
    log: { kind: "hip" },
  },
  {
    of: "the HIP driver",
    text: "RuntimeError: HIP error: out of memory",
    verdicts: ["unknown"],
    log: { memory: "device" },
  },
  {
    of: "XPU, an allocation above 4 GiB",
    text: "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.71 GiB. GPU 0 has a total capacity of 11.60 GiB of which 11.41 GiB is free. Of the allocated memory 193.50 KiB is allocated by PyTorch, and 1.79 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
    verdicts: ["driver"],
    log: { kind: "xpu", inUseBytes: 193.5 * KiB },
  },
  {
    of: "XPU, a small allocation with much free",
    text: "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 190.00 MiB.\nGPU 3 has a total capacity of 31.89 GiB of which 13.20 GiB is free. Of the allocated memory 17.20 GiB is allocated by PyTorch, and 91.00 MiB is reserved by PyTorch but unallocated.",
    verdicts: ["driver"],
    log: { kind: "xpu", name: "GPU 3" },
  },
  {
    of: "XPU, full",
    text: "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 11.93 GiB of which 7.61 MiB is free. Of the allocated memory 10.80 GiB is allocated by PyTorch, and 61.88 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
    verdicts: ["full"],
    log: { kind: "xpu" },
  },
  {
    of: "XPU, attention scores larger than the GPU",
    text: "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 58.61 GiB. GPU 0 has a total capacity of 28.55 GiB of which 12.31 GiB is free. Of the allocated memory 15.02 GiB is allocated by PyTorch, and 1.01 GiB is reserved by PyTorch but unallocated.",
    verdicts: ["absurd"],
    log: { kind: "xpu" },
  },
  {
    of: "Intel's extension for PyTorch",
    text: "RuntimeError: XPU out of memory. Tried to allocate 1.52 GiB (GPU 0; 15.11 GiB total capacity; 13.20 GiB already allocated; 13.91 GiB reserved in total by PyTorch)",
    verdicts: ["unknown"],
    log: { availableBytes: undefined },
  },
  {
    of: "Intel's extension for PyTorch, with less left than was requested",
    text: "RuntimeError: XPU out of memory. Tried to allocate 4.52 GiB (GPU 0; 15.11 GiB total capacity; 13.20 GiB already allocated; 13.91 GiB reserved in total by PyTorch)",
    verdicts: ["full"],
  },
  {
    of: "Level Zero",
    text: "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
    verdicts: ["unknown"],
    log: { kind: "xpu", memory: "device" },
  },
  {
    of: "Level Zero, for the host",
    text: "RuntimeError: level_zero backend failed with error: 38 (UR_RESULT_ERROR_OUT_OF_HOST_MEMORY)",
    verdicts: ["host"],
  },
  {
    of: "NPU, full",
    text: "RuntimeError: NPU out of memory. Tried to allocate 54.00 MiB (NPU 2; 60.96 GiB total capacity; 59.31 GiB already allocated; 59.31 GiB current active; 17.31 MiB free; 59.33 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
    verdicts: ["full"],
    log: { kind: "npu", name: "NPU 2" },
  },
  {
    of: "NPU, in pieces",
    text: "RuntimeError: NPU out of memory. Tried to allocate 5.01 GiB (NPU 3; 60.96 GiB total capacity; 49.50 GiB already allocated; 49.50 GiB current active; 1.30 GiB free; 57.58 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
    verdicts: ["fragmented"],
    log: { kind: "npu" },
  },
  {
    of: "NPU, filled by another process",
    text: "RuntimeError: NPU out of memory. Tried to allocate 524.00 MiB (NPU 0; 60.97 GiB total capacity; 10.26 GiB already allocated; 10.26 GiB current active; 18.52 MiB free; 10.63 GiB reserved in total by PyTorch)",
    verdicts: ["other-process"],
    log: { kind: "npu" },
  },
  {
    of: "MPS",
    text: "RuntimeError: MPS backend out of memory (MPS allocated: 9.51 GiB, other allocations: 17.41 GiB, max allowed: 27.20 GiB). Tried to allocate 296.50 MiB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
    verdicts: ["limited"],
    log: { kind: "mps", inUseBytes: gib(9.51), contextBytes: gib(17.41), allowedBytes: gib(27.2) },
  },
  {
    of: "MPS before 2.4, with decimal unit names",
    text: "RuntimeError: MPS backend out of memory (MPS allocated: 6.02 GB, other allocations: 107.10 MB, max allowed: 6.77 GB). Tried to allocate 819.07 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
    verdicts: ["limited"],
    log: { askedBytes: mib(819.07), contextBytes: mib(107.1) },
  },
  {
    of: "MPS, a few bytes",
    text: "RuntimeError: MPS backend out of memory (MPS allocated: 16.02 GB, max allowed: 18.13 GB). Tried to allocate 256 bytes on shared pool.",
    verdicts: ["limited"],
    log: { askedBytes: 256 },
  },
  {
    of: "MPS, a buffer that is too large",
    text: "RuntimeError: Invalid buffer size: 57.11 GB",
    verdicts: ["absurd"],
    log: { kind: "mps", askedBytes: gib(57.11) },
  },
  {
    of: "Metal",
    text: "-[AGXG14XFamilyDevice newBufferWithLength:options:]: failed assertion `Failed to allocate private MTLBuffer for size 8123456789'",
    verdicts: ["unknown"],
    log: { kind: "mps", askedBytes: 8123456789 },
  },
  {
    of: "a Metal command buffer",
    text: "Error: command buffer exited with error status.\n\tError: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
    verdicts: ["unknown"],
    log: { kind: "mps", memory: "device" },
  },
  {
    of: "MLX",
    text: "RuntimeError: [metal::malloc] Attempting to allocate 47736917632 bytes which is greater than the maximum allowed buffer size of 30150672384 bytes.",
    verdicts: ["absurd"],
    log: { askedBytes: 47736917632, limitBytes: 30150672384 },
  },
  {
    of: "Gaudi",
    text: "RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::16777216 (16)MB",
    verdicts: ["unknown"],
    log: { askedBytes: 16777216 },
  },
];

const libraries: readonly OutOfMemoryText[] = [
  {
    of: "cuBLAS",
    text: "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    verdicts: ["unknown"],
    log: { name: "cuBLAS", memory: "device" },
  },
  {
    of: "cuDNN 8",
    text: "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    verdicts: ["unknown"],
    log: { name: "cuDNN" },
  },
  {
    of: "cuDNN 9",
    text: "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    verdicts: ["unknown"],
    log: { name: "cuDNN" },
  },
  {
    of: "cuSOLVER",
    text: "torch._C._LinAlgError: cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnXsyevd`",
    verdicts: ["unknown"],
    log: { name: "cuSOLVER" },
  },
  { of: "cuFFT", text: "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED", verdicts: ["unknown"], log: { name: "cuFFT" } },
  {
    of: "NCCL 2.21",
    text: "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'",
    verdicts: ["unknown"],
    log: { name: "NCCL", memory: "device" },
  },
  {
    of: "NCCL's log",
    text: "node1:71:98 [0] include/alloc.h:205 NCCL WARN Failed to CUDA calloc async 4194304 bytes\nnode1:71:98 [0] transport/p2p.cc:198 NCCL WARN Cuda failure 'out of memory'",
    verdicts: ["unknown"],
    log: { name: "NCCL" },
  },
  {
    of: "NCCL, pinned memory of the host",
    text: "node1:71:98 [0] include/alloc.h:30 NCCL WARN Failed to CUDA host alloc 33030144 bytes",
    verdicts: ["host"],
    log: { askedBytes: 33030144 },
  },
  {
    of: "NCCL, shared memory",
    text: "ubuntu:9621:9688 [3] misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Ab3dEf (size 5967872), error: No space left on device (28)",
    verdicts: ["shared-memory"],
    log: { askedBytes: 5967872, memory: "shared" },
  },
  {
    of: "Triton 2",
    text: "triton.runtime.autotuner.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
    verdicts: ["shared-memory"],
    log: { memory: "block", askedBytes: 147456, limitBytes: 101376 },
  },
  {
    of: "Inductor",
    text: "torch._inductor.exc.InductorError: RuntimeError: No valid triton configs. OutOfMemoryError: out of resource: triton_red_fused_add_3 Required: 98304 Hardware limit:65536 Reducing block sizes or `num_stages` may help.",
    verdicts: ["shared-memory"],
    log: { memory: "block", askedBytes: 98304, limitBytes: 65536 },
  },
  {
    of: "Triton on Blackwell",
    text: "triton.runtime.errors.OutOfResources: out of resource: tensor memory, Required: 640, Hardware limit: 512. Reducing block sizes or `num_stages` may help.",
    verdicts: ["shared-memory"],
  },
  {
    of: "ptxas",
    text: "ptxas error   : Entry function 'kernel' uses too much shared data (0x18000 bytes, 0xc000 max)",
    verdicts: ["shared-memory"],
    log: { askedBytes: 0x18000, limitBytes: 0xc000 },
  },
  {
    of: "ONNX Runtime",
    text: "RUNTIME_EXCEPTION : Non-zero status code returned while running Conv node. Name:'Conv_3' Status Message: bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*, bool, onnxruntime::WaitNotificationFn) Failed to allocate memory for requested buffer of size 285081600\n",
    verdicts: ["unknown"],
    log: { name: "ONNX Runtime", askedBytes: 285081600 },
  },
  {
    of: "ONNX Runtime with a limit",
    text: "bfc_arena.cc:326 onnxruntime::BFCArena::AllocateRawInternal Available memory of 1044316160 is smaller than requested bytes of 2830172160",
    verdicts: ["limited"],
    log: { allowedBytes: 1044316160, askedBytes: 2830172160 },
  },
  {
    of: "ONNX Runtime, a size that overflowed",
    text: "onnxruntime::BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 4585490524328388608",
    verdicts: ["absurd"],
  },
  {
    of: "Paddle",
    text: "ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 3.622826GB memory on GPU 0, 21.184814GB memory has been allocated and available memory is only 2.014575GB.\n\nPlease check whether there is any other process using GPU 0.",
    verdicts: ["unknown"],
    log: { name: "GPU 0", inUseBytes: gib(21.184814), availableBytes: gib(2.014575) },
  },
  {
    of: "CuPy with a limit",
    text: "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 2,000,000,000 bytes (allocated so far: 7,500,000,000 bytes, limit set to: 8,000,000,000 bytes).",
    verdicts: ["limited"],
    log: { askedBytes: 2e9, inUseBytes: 7.5e9, allowedBytes: 8e9 },
  },
  {
    of: "CuPy",
    text: "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 4,096,000,000 bytes (allocated so far: 1,024 bytes).",
    verdicts: ["unknown"],
    log: { name: "CuPy", askedBytes: 4096e6 },
  },
  {
    of: "llama.cpp",
    text: "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5120.00 MiB on device 0: cudaMalloc failed: out of memory\nggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 5368709120",
    verdicts: ["unknown"],
    log: { askedBytes: 5120 * MiB },
  },
  {
    of: "Faiss",
    text: "Faiss assertion 'err == cudaSuccess' failed: Error: StandardGpuResources: alloc fail type TemporaryMemoryOverflow dev 0 space Device stream 0x55 size 1610612736 bytes (cudaMalloc error out of memory [2])",
    verdicts: ["unknown"],
    log: { name: "Faiss", askedBytes: 1610612736 },
  },
  {
    of: "TensorRT",
    text: "[TRT] [E] 2: [virtualMemoryBuffer.cpp::resizePhysical::140] Requested amount of GPU memory (4294967296 bytes) could not be allocated. There may not be enough free memory for allocation to succeed.",
    verdicts: ["unknown"],
    log: { name: "TensorRT", askedBytes: 4 * GiB },
  },
  {
    of: "RMM",
    text: "MemoryError: std::bad_alloc: out_of_memory: RMM failure at: pool_memory_resource.hpp:257: Maximum pool size exceeded",
    verdicts: ["limited"],
    log: { name: "RMM" },
  },
  {
    of: "bitsandbytes",
    text: "Error out of memory at line 380 in file ops.cu",
    verdicts: ["unknown"],
    log: { memory: "device" },
  },
  {
    of: "Accelerate",
    text: "RuntimeError: No executable batch size found, reached zero.",
    verdicts: ["unknown"],
    log: { name: "Accelerate" },
  },
  {
    of: "vLLM, at its start",
    text: "(EngineCore_DP0 pid=6941) ValueError: Free memory on device cuda:0 (10.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
    verdicts: ["other-process"],
    log: {
      name: "vLLM",
      reporter: "pid 6941",
      availableBytes: gib(10.77),
      limitBytes: gib(22.05),
      askedBytes: gib(19.84),
    },
  },
  {
    of: "vLLM, for its cache",
    text: "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
    verdicts: ["limited"],
    log: { name: "vLLM", op: "the KV cache" },
  },
  {
    of: "vLLM, a long context",
    text: "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (8.41 GiB). Based on the available memory, the estimated maximum model length is 68848.",
    verdicts: ["limited"],
    log: { askedBytes: 16 * GiB, allowedBytes: gib(8.41) },
  },
  {
    of: "vLLM, while warming up",
    text: "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
    verdicts: ["full"],
    log: { name: "vLLM" },
  },
  {
    of: "SGLang",
    text: "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    verdicts: ["limited"],
    log: { name: "SGLang" },
  },
];

const host: readonly OutOfMemoryText[] = [
  {
    of: "PyTorch's CPU allocator on Linux",
    text: "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 94371840000 bytes. Error code 12 (Cannot allocate memory)",
    verdicts: ["host"],
    log: { kind: "cpu", askedBytes: 94371840000 },
  },
  {
    of: "PyTorch 1.1's CPU allocator",
    text: "RuntimeError: [enforce fail at CPUAllocator.cpp:56] posix_memalign(&data, gAlignment, nbytes) == 0. 12 vs 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 6291456 bytes.",
    verdicts: ["host"],
    log: { askedBytes: 6291456 },
  },
  {
    of: "PyTorch's CPU allocator on Windows",
    text: "RuntimeError: [enforce fail at alloc_cpu.cpp:115] data. DefaultCPUAllocator: not enough memory: you tried to allocate 1644911171 bytes.",
    verdicts: ["host"],
  },
  {
    of: "PyTorch 0.3's CPU allocator",
    text: "RuntimeError: $ Torch: not enough memory: you tried to allocate 71GB. Buy new RAM! at /opt/conda/THGeneral.c:246",
    verdicts: ["host"],
    log: { askedBytes: 71 * GiB },
  },
  {
    of: "PyTorch's CPU allocator, for a negative size",
    text: "RuntimeError: [enforce fail at alloc_cpu.cpp:80] . DefaultCPUAllocator: not enough memory: you tried to allocate 18446744071562067968 bytes.",
    verdicts: ["absurd"],
  },
  {
    of: "PyTorch, a shape that overflows",
    text: "RuntimeError: Storage size calculation overflowed with sizes=[4611686018427387904, 8]",
    verdicts: ["absurd"],
  },
  {
    of: "PyTorch, a checkpoint that is mapped into memory",
    text: "RuntimeError: unable to mmap 4943152336 bytes from file <model-00001-of-00002.safetensors>: Cannot allocate memory (12)",
    verdicts: ["host"],
    log: { askedBytes: 4943152336 },
  },
  {
    of: "NumPy",
    text: "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 24.6 GiB for an array with shape (60000, 55000) and data type float64",
    verdicts: ["host"],
    log: { askedBytes: gib(24.6), shape: [60000, 55000], dtype: "float64" },
  },
  {
    of: "NumPy, with a round size",
    text: "MemoryError: Unable to allocate 512. KiB for an array with shape (65536,) and data type float64",
    verdicts: ["host"],
    log: { askedBytes: 512 * KiB, shape: [65536] },
  },
  {
    of: "NumPy before 1.18",
    text: "MemoryError: Unable to allocate array with shape (100000, 90000) and data type float64",
    verdicts: ["host"],
    log: { askedBytes: undefined, shape: [100000, 90000], dtype: "float64" },
  },
  {
    of: "srun",
    text: "srun: error: node17: task 0: Out Of Memory",
    verdicts: ["host"],
    log: { name: "A Slurm job step" },
  },
  {
    of: "NumPy, a size of an index",
    text: "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.28 PiB for an array with shape (32000000, 32000000) and data type float64",
    verdicts: ["absurd"],
  },
  { of: "Python", text: '  File "a.py", line 3, in load\n    rows = list(reader)\nMemoryError\n', verdicts: ["host"] },
  {
    of: "C++",
    text: "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted (core dumped)",
    verdicts: ["host"],
  },
  {
    of: "a fork",
    text: "    self.pid = os.fork()\nOSError: [Errno 12] Cannot allocate memory",
    verdicts: ["host"],
  },
  {
    of: "Windows without a page file",
    text: "OSError: The paging file is too small for this operation to complete. (os error 1455)",
    verdicts: ["host"],
  },
  {
    of: "a DataLoader worker",
    text: "RuntimeError: DataLoader worker (pid 5251) is killed by signal: Killed. ",
    verdicts: ["host"],
    log: { name: "A DataLoader worker (pid 5251)", killedForMemory: false },
  },
  {
    of: "a DataLoader worker without shared memory",
    text: "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\nRuntimeError: DataLoader worker (pid 42) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
    verdicts: ["shared-memory"],
    log: { memory: "shared" },
  },
  {
    of: "PyTorch's file_system sharing",
    text: "RuntimeError: unable to write to file </torch_18692_1954506624_3>: No space left on device (28)",
    verdicts: ["shared-memory"],
    log: { memory: "shared" },
  },
  {
    of: "PyTorch's file_descriptor sharing",
    text: "RuntimeError: unable to allocate shared memory(shm) for file </torch_417_2203416120_7>: Success (0)",
    verdicts: ["shared-memory"],
  },
  {
    of: "torchrun",
    text: "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\ntrain.py FAILED\nRoot Cause (first observed failure):\n[0]:\n  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 36079)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 36079",
    verdicts: ["host"],
    log: { killedForMemory: false },
  },
  {
    of: "torch.multiprocessing",
    text: "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL",
    verdicts: ["host"],
  },
  {
    of: "accelerate launch",
    text: "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.",
    verdicts: ["host"],
  },
  {
    of: "a shell",
    text: "Epoch 1/3\nloading 41 shards\nKilled\n",
    verdicts: ["host"],
    log: { killedForMemory: false },
  },
  { of: "zsh", text: "zsh: killed     python train.py", verdicts: ["host"] },
  {
    of: "bash, in a script",
    text: "run.sh: line 12: 20117 Killed                  python train.py --config big.yaml",
    verdicts: ["host"],
  },
  {
    of: "an editor",
    text: "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
    verdicts: ["host"],
  },
  {
    of: "the kernel's log",
    text: "[86231.1] Out of memory: Killed process 21344 (python3) total-vm:81923712kB, anon-rss:63201232kB, file-rss:0kB, shmem-rss:0kB, UID:1000",
    verdicts: ["host"],
    log: { name: "A process (pid 21344)", inUseBytes: 63201232 * KiB, killedForMemory: true },
  },
  {
    of: "the kernel's log of a container",
    text: "Memory cgroup out of memory: Killed process 991 (python) total-vm:30211111kB, anon-rss:16777000kB, file-rss:100kB",
    verdicts: ["host"],
    log: { killedForMemory: true },
  },
  {
    of: "Slurm",
    text: "slurmstepd: error: Detected 1 oom_kill event in StepId=81234.batch. Some of the step tasks have been OOM Killed.",
    verdicts: ["host"],
    log: { name: "A Slurm job step" },
  },
  {
    of: "Slurm before 2021",
    text: "slurmstepd: error: Detected 1 oom-kill event(s) in step 712.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",
    verdicts: ["host"],
  },
  {
    of: "Kubernetes",
    text: "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137",
    verdicts: ["host"],
    log: { name: "A container" },
  },
  {
    of: "Ray",
    text: "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.7, ID: 31) where the task (train) was running was 14.57GB / 15.33GB (0.950439), which exceeds the memory usage threshold of 0.95.",
    verdicts: ["host"],
    log: { killedForMemory: true, limitBytes: gib(15.33), inUseBytes: gib(14.57) },
  },
];

const xla: readonly OutOfMemoryText[] = [
  {
    of: "JAX on a GPU",
    text: [
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354132 bytes.",
      "BufferAssignment OOM Debugging.",
      "BufferAssignment stats:",
      "             parameter allocation:  372.50MiB",
      "              constant allocation:    48.5KiB",
      "        maybe_live_out allocation:    9.62GiB",
      "     preallocated temp allocation:    4.44GiB",
      "                 total allocation:   14.42GiB",
      "              total fragmentation:  680.25MiB (4.60%)",
      "Peak buffers:",
      "\tBuffer 1:",
      "\t\tSize: 96.00MiB",
      '\t\tOperator: op_name="jit(train_step)/jit(main)/jvp(Model)/layers_3/dot_general" source_file="model.py" source_line=79',
      "\t\tXLA Label: custom-call",
      "\t\tShape: bf16[128,6,256,256]",
      "\t\t==========================",
      "",
      "\tBuffer 2:",
      "\t\tSize: 384.0KiB",
      "\t\tEntry Parameter Subshape: f32[256,128,3]",
    ].join("\n"),
    verdicts: ["unknown"],
    log: {
      askedBytes: 4770354132,
      program: {
        parameterBytes: mib(372.5),
        constantBytes: 48.5 * KiB,
        outputBytes: gib(9.62),
        temporaryBytes: gib(4.44),
        totalBytes: gib(14.42),
        fragmentationBytes: mib(680.25),
        buffers: [
          {
            bytes: 96 * MiB,
            op: "jit(train_step)/jit(main)/jvp(Model)/layers_3/dot_general",
            line: "model.py:79",
            shape: "bf16[128,6,256,256]",
          },
          { bytes: 384 * KiB, op: undefined, line: undefined, shape: undefined },
        ],
      },
    },
  },
  {
    of: "JAX in 2021",
    text: "RuntimeError: Resource exhausted: Failed to allocate request for 32.00MiB (33554432B) on device ordinal 1",
    verdicts: ["unknown"],
    log: { name: "GPU 1", askedBytes: 32 * MiB },
  },
  {
    of: "JAX, a size in words",
    text: "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12.50GiB.",
    verdicts: ["unknown"],
    log: { askedBytes: 12.5 * GiB },
  },
  {
    of: "XLA with cudaMallocAsync",
    text: "E1103 gpu_cudamallocasync_allocator.cc:361] gpu_async_1 cuMemAllocAsync failed to allocate 42949672960 bytes: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n Reported by CUDA: Free memory/Total memory: 22635544576/85095874560\nStats: Limit:                               0\nInUse:                     61982909300\nMaxInUse:                  61982909300",
    verdicts: ["full"],
    log: { limitBytes: 85095874560, availableBytes: 22635544576, inUseBytes: 61982909300 },
  },
  {
    of: "XLA with cudaMallocAsync, for more than the GPU has",
    text: "E1103 gpu_cudamallocasync_allocator.cc:361] gpu_async_1 cuMemAllocAsync failed to allocate 1225195446464 bytes: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n Reported by CUDA: Free memory/Total memory: 22635544576/85095874560",
    verdicts: ["absurd"],
  },
  {
    of: "a TPU's compiler",
    text: [
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 62.80G of 30.75G hbm. Exceeded hbm capacity by 32.05G.",
      "",
      "Total hbm usage >= 64.05G:",
      "    reserved          1.25G",
      "    program          62.80G",
      "    arguments        12.00M",
      "",
      "Output size 5.00M; shares 0B with arguments.",
      "",
      "Program hbm requirement 62.80G:",
      "    global            1.14M",
      "    HLO temp         62.79G (100.0% utilization: Unpadded (62.58G) Padded (62.58G), 0.3% fragmentation (210.50M))",
      "",
      "  Largest program allocations in hbm:",
      "",
      "  1. Size: 2.00G",
      '     Operator: op_name="jit(step)/jit(main)/jvp(Model)/h/0/dot_general" source_file="attention.py" source_line=1059',
      "     Shape: f32[32,4096,4096]{1,2,0:T(8,128)}",
      "     Unpadded size: 2.00G",
    ].join("\n"),
    verdicts: ["full"],
    log: {
      kind: "tpu",
      askedBytes: gib(62.8),
      limitBytes: gib(30.75),
      program: {
        parameterBytes: 12 * MiB,
        constantBytes: undefined,
        outputBytes: 5 * MiB,
        temporaryBytes: gib(62.79),
        totalBytes: gib(64.05),
        fragmentationBytes: mib(210.5),
        buffers: [
          {
            bytes: 2 * GiB,
            op: "jit(step)/jit(main)/jvp(Model)/h/0/dot_general",
            line: "attention.py:1059",
            shape: "f32[32,4096,4096]",
          },
        ],
      },
    },
  },
  {
    of: "a TPU, full",
    text: "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 15.61G. That was not possible. There are 11.09G free.; (0x0x0_HBM0)",
    verdicts: ["full"],
    log: { kind: "tpu", askedBytes: gib(15.61) },
  },
  {
    of: "a TPU, in pieces",
    text: "RuntimeError: RESOURCE_EXHAUSTED: Attempting to allocate 31.06M. That was not possible. There are 57.64M free. Due to fragmentation, the largest contiguous region of free memory is 30.06M.; (0x0x0_HBM0)",
    verdicts: ["fragmented"],
    log: { largestFreeBytes: mib(30.06) },
  },
  {
    of: "a TPU, a reservation in pieces",
    text: "(1) RESOURCE_EXHAUSTED: Attempting to reserve 6.41G at the bottom of memory. That was not possible. There are 6.77G free, 0B reserved, and 3.31G reservable.",
    verdicts: ["fragmented"],
  },
  {
    of: "a TPU, a reservation that is too large",
    text: "OP_REQUIRES failed at tpu_execute_op.cc:266 : RESOURCE_EXHAUSTED: Attempting to reserve 10.49G at the bottom of memory. That was not possible. There are 8.95G free, 0B reserved, and 8.95G reservable.",
    verdicts: ["full"],
  },
  {
    of: "a TPU, in bytes",
    text: "XlaRuntimeError: RESOURCE_EXHAUSTED: Could not allocate 10485760 bytes in memory 0x0x0_HBM0; 4374528 bytes allocatable, 14942208 bytes available",
    verdicts: ["fragmented"],
    log: { askedBytes: 10485760, pooledBytes: 14942208, largestFreeBytes: 4374528 },
  },
  {
    of: "a TPU kernel",
    text: "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 22.03M of 16.00M vmem. Exceeded vmem capacity by 6.03M.",
    verdicts: ["shared-memory"],
    log: { memory: "block" },
  },
];

const bfcPrefix = "2019-05-12 14:33:35.458298: I tensorflow/core/common_runtime/bfc_allocator.cc:641] ";

const tensorflow: readonly OutOfMemoryText[] = [
  {
    of: "TensorFlow 1, a summary without chunks",
    text: [
      "2019-05-12 14:33:25.100000: W tensorflow/core/common_runtime/bfc_allocator.cc:267] Allocator (GPU_0_bfc) ran out of memory trying to allocate 64.00MiB.  Current allocation summary follows.",
      `${bfcPrefix}1 Chunks of size 191430656 totalling 182.56MiB`,
      `${bfcPrefix}36 Chunks of size 67108864 totalling 2.25GiB`,
      `${bfcPrefix}Sum Total of in-use chunks: 8.58GiB`,
      `${bfcPrefix}Stats:`,
      "Limit:                  9219918974",
      "InUse:                  9217796864",
      "MaxInUse:               9217796864",
      "NumAllocs:                    3470",
    ].join("\n"),
    verdicts: ["full"],
    log: {
      askedBytes: 64 * MiB,
      sizes: [
        { bytes: 191430656, inUse: 1, free: 0 },
        { bytes: 67108864, inUse: 36, free: 0 },
      ],
    },
  },
  {
    of: "two GPUs of TensorFlow",
    text: [0, 1]
      .map(
        (gpu) =>
          `W tensorflow/tsl/framework/bfc_allocator.cc:497] Allocator (GPU_${gpu}_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)requested by op MatMul\nI tensorflow/tsl/framework/bfc_allocator.cc:1083] total_region_allocated_bytes_: 8589934592 memory_limit_: ${gpu === 0 ? "8589934592" : "15032385536"} available bytes: ${gpu === 0 ? 0 : 6442450944} curr_region_allocation_bytes_: 17179869184\nLimit:                      ${gpu === 0 ? 8589934592 : 15032385536}\nInUse:                      8500000000\nMaxInUse:                   8500000000`,
      )
      .join("\n"),
    verdicts: ["full", "driver"],
    log: { name: "GPU_1_bfc", op: "MatMul", availableBytes: 6 * GiB },
  },
  {
    of: "TensorFlow's short error",
    text: "ResourceExhaustedError: Graph execution error:\nOOM when allocating tensor with shape[8,16,1024,1024] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[{{node gradient_tape/model/softmax}}]]",
    verdicts: ["unknown"],
    log: { name: "GPU_0_bfc", askedBytes: 512 * MiB, shape: [8, 16, 1024, 1024] },
  },
  {
    of: "TensorFlow's error for the host",
    text: "ResourceExhaustedError: OOM when allocating tensor with shape[60000,224,224,3] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu [Op:Cast]",
    verdicts: ["host"],
    log: { name: "mklcpu", memory: "host" },
  },
  {
    of: "TensorFlow's eager error",
    text: "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__Mul_device_/job:localhost/replica:0/task:0/device:GPU:0}} failed to allocate memory [Op:Mul] name:",
    verdicts: ["unknown"],
    log: { kind: "tensorflow", memory: "device", op: "Mul" },
  },
  {
    of: "TensorFlow, a constant for the GPU",
    text: "InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: Dst tensor is not initialized.",
    verdicts: ["unknown"],
    log: { kind: "tensorflow", memory: "device" },
  },
  {
    of: "TensorFlow's stream executor",
    text: "E tensorflow/stream_executor/cuda/cuda_driver.cc:828] failed to allocate 2.10G (2254857830 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    verdicts: ["unknown"],
    log: { kind: "tensorflow" },
  },
  {
    of: "TensorFlow, pinned memory",
    text: "W tensorflow/core/common_runtime/gpu/gpu_host_allocator.h:44] could not allocate pinned host memory of size: 2304",
    verdicts: ["host"],
    log: { askedBytes: 2304 },
  },
];

/** Texts of allocators, runtimes, launchers and operating systems. */
export const outOfMemoryTexts: readonly OutOfMemoryText[] = [
  ...cuda,
  ...otherAccelerators,
  ...libraries,
  ...host,
  ...xla,
  ...tensorflow,
];

/** Texts that do not report a lack of memory, or that a program survives. */
export const otherTexts: readonly string[] = [
  "RuntimeError: CUDA error: an illegal memory access was encountered",
  "W tensorflow/core/framework/cpu_allocator_impl.cc:82] Allocation of 1073741824 exceeds 10% of free system memory.",
  "W tensorflow/tsl/framework/bfc_allocator.cc:485] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
  "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
  "W external/xla/xla/service/hlo_rematerialization.cc:3005] Can't reduce memory use below 23.4GiB (25125558681 bytes) by rematerialization; only reduced to 31.3GiB",
  "  exitcode  : -15 (pid: 361)\n  traceback : Signal 15 (SIGTERM) received by PID 361",
  "  exitcode  : -11 (pid: 361)\n  traceback : Signal 11 (SIGSEGV) received by PID 361",
  "UserWarning: expandable_segments not supported on this platform",
  "RuntimeError: unable to open shared memory object </torch_12_3> in read-write mode: Too many open files (24)",
  "except MemoryError as error: # retry with half of the batch",
  "out of resource: registers, Required: 70000, Hardware limit: 65536",
  "The worker was Killed by the user",
  "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
];
