import type { AllocatorKind, AllocatorLog } from "@remat/memory/failure";

/** Advice that depends on who reports. Kinds without an entry get none. */
type AdviceByKind = Partial<Readonly<Record<AllocatorKind, string>>>;

const expandable = (variable: string): string =>
  `Set ${variable}=expandable_segments:True, so that the driver joins the pieces.`;

const againstFragments: AdviceByKind = {
  bfc: "Set TF_GPU_ALLOCATOR=cuda_malloc_async, so that the driver joins the pieces.",
  cuda: expandable("PYTORCH_CUDA_ALLOC_CONF"),
  npu: expandable("PYTORCH_NPU_ALLOC_CONF"),
  hip: "Set PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:512, so that large blocks are not split.",
  xpu: "Call torch.xpu.empty_cache() before the largest allocation, and keep the shapes of batches constant.",
  tpu: "Donate the arguments of the step (donate_argnums), so that outputs reuse their memory.",
};

const nvidiaSmi = "nvidia-smi lists them.";

const listsOfProcesses: AdviceByKind = {
  bfc: nvidiaSmi,
  cuda: nvidiaSmi,
  "cuda-async": nvidiaSmi,
  xla: nvidiaSmi,
  serving: nvidiaSmi,
  hip: "rocm-smi --showpids lists them.",
  xpu: "xpu-smi ps lists them.",
  npu: "npu-smi info lists them.",
};

const otherLimits = "A container, MIG, a virtual GPU or WSL can limit the process.";

const againstRefusal: AdviceByKind = {
  bfc: `Another process or library uses memory that the limit includes. ${nvidiaSmi}`,
  cuda: `${otherLimits} Compare with nvidia-smi, and restart other programs on the GPU.`,
  hip: "An integrated GPU shares the memory of the host: check what the host has free, and the limit amdgpu.gttsize.",
  npu: "A container can limit the process. Compare with npu-smi info.",
};

const fractionsAllowed: AdviceByKind = {
  cuda: "Raise torch.cuda.set_per_process_memory_fraction().",
  "cuda-async": "Raise torch.cuda.set_per_process_memory_fraction().",
  hip: "Raise torch.cuda.set_per_process_memory_fraction().",
  xpu: "Raise torch.xpu.set_per_process_memory_fraction().",
  npu: "Raise torch.npu.set_per_process_memory_fraction().",
  mps: "Free tensors or use a smaller batch. PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 removes the limit, but the system may fail.",
};

/** Limits that programs other than PyTorch set, by the name of the program. */
const limitsByName: Readonly<Record<string, string>> = {
  vLLM: "Raise --gpu-memory-utilization, or lower --max-model-len.",
  SGLang: "Raise --mem-fraction-static, or use a shorter context.",
  "ONNX Runtime": "Raise gpu_mem_limit of the execution provider.",
  CuPy: "Raise the limit of its memory pool (CUPY_GPU_MEMORY_LIMIT).",
  RMM: "Raise maximum_pool_size.",
};

const withoutSizes: AdviceByKind = {
  bfc: "TensorFlow's allocator prints its state before this error: save the program's whole stderr.",
  tensorflow: "TensorFlow's allocator prints its state before this error: save the program's whole stderr.",
  cuda: "Catch the error and print torch.cuda.memory_summary() to see what is in use.",
  driver: "Catch the error and print torch.cuda.memory_summary(). If little is in use, another process has the memory.",
  xpu: "Catch the error and print torch.xpu.memory_summary() to see what is in use.",
  xla: "JAX reserves 75% of the GPU. XLA_PYTHON_CLIENT_MEM_FRACTION=0.9 raises this share.",
  library:
    "It allocates outside the framework's pool. Use a smaller batch, or call torch.cuda.empty_cache() before it starts.",
  framework: "Use a smaller batch, and check which other processes use the device.",
  mps: "Use a smaller batch, and close other programs that use the GPU.",
};

/** Returns advice against fragmentation. @internal */
export function adviceAgainstFragments({ kind }: AllocatorLog): string {
  return againstFragments[kind] ?? "Keep the shapes of batches constant.";
}

/** Returns how to list the processes on the device. @internal */
export function adviceOnProcesses({ kind }: AllocatorLog): string {
  return listsOfProcesses[kind] ?? "";
}

/** Returns advice on a limit that the program or its settings set. @internal */
export function adviceOnLimit({ kind, name }: AllocatorLog): string {
  return limitsByName[name] ?? fractionsAllowed[kind] ?? "";
}

/** Level Zero refuses larger single allocations by default. */
const mostOfLevelZero = 2 ** 32;

/** Returns advice on a driver that refuses although memory is free. @internal */
export function adviceOnRefusal({ kind, askedBytes = 0 }: AllocatorLog): string {
  if (kind !== "xpu") return againstRefusal[kind] ?? otherLimits;
  return askedBytes >= mostOfLevelZero
    ? "Intel's driver may refuse single allocations above 4 GiB: set UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1."
    : "An integrated GPU shares the memory of the host: check what the host has free.";
}

/** Returns advice if the text has too few numbers. @internal */
export function adviceWithoutSizes({ kind }: AllocatorLog): string {
  return withoutSizes[kind] ?? "";
}

/** Returns advice if the memory of the host ran out. @internal */
export function adviceOnHost({ name, killedForMemory }: AllocatorLog): string {
  if (name.startsWith("A DataLoader worker")) return "Use fewer workers (num_workers) or a lower prefetch_factor.";
  if (killedForMemory === false)
    return "To check, look for its id in the output of dmesg or in the job's memory report.";
  if (killedForMemory === true) return "Raise the memory limit of the job or container, or load less data at once.";
  return "Load less data at once, or keep it in a file that is mapped into memory.";
}

/** Returns advice if shared memory ran out. @internal */
export function adviceOnSharedMemory({ memory, kind }: AllocatorLog): string {
  if (memory === "shared") return "In Docker, use --shm-size=8g or --ipc=host. Otherwise use fewer DataLoader workers.";
  return kind === "tpu" ? "Use smaller block shapes." : "Use smaller block sizes or fewer stages (num_stages).";
}

/** Returns advice if the request alone is too large. @internal */
export function adviceOnAbsurdSize({ kind, limitBytes }: AllocatorLog): string {
  return limitBytes === undefined && kind !== "mps"
    ? "Check the shapes in your program."
    : "Check the shape, or split the op, for example with an attention that works in blocks.";
}

const againstFullMemory: AdviceByKind = {
  bfc: "Use a smaller batch.",
  serving: "Lower max_num_seqs or gpu_memory_utilization.",
  tpu: "Use a smaller batch, or wrap blocks of the model in jax.checkpoint.",
};

/** Returns advice if this process fills the device. @internal */
export function adviceOnFullMemory({ kind }: AllocatorLog): string {
  return (
    againstFullMemory[kind] ??
    "Use a smaller batch, or checkpoint activations: remat plan finds which, from a recording."
  );
}
