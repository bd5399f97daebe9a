/** The chunks of one size in an allocator. */
export interface ChunksOfSize {
  /** The size of each chunk. */
  readonly bytes: number;
  /** The number of chunks in use. */
  readonly inUse: number;
  /** The number of free chunks. */
  readonly free: number;
}

/**
 * A group of chunks that an allocator searches by size: from `fromBytes` up to the next bin, or a pool for small or for
 * large chunks.
 */
export interface AllocatorBin {
  readonly name: string;
  /** The number of chunks in use, or undefined if the log does not count them. */
  readonly chunksInUse: number | undefined;
  /** The number of all chunks, or undefined if the log does not count them. */
  readonly chunks: number | undefined;
  /** Bytes in use. */
  readonly inUseBytes: number;
  /** Bytes reserved by the allocator, in use or not. */
  readonly reservedBytes: number;
}

/**
 * The software that reports a failure: TensorFlow's `bfc` allocator, PyTorch's allocators by backend (`cuda`,
 * `cuda-async` for `cudaMallocAsync`, `hip`, `xpu`, `npu`, `mps`, `cpu`), XLA on a GPU or a `tpu`, `triton`, a serving
 * engine (`serving`), a `library` such as cuBLAS or NCCL, a GPU's `driver`, the `host` (Python, NumPy, the operating
 * system), or another `framework`.
 */
export type AllocatorKind =
  | "bfc"
  | "cuda"
  | "cuda-async"
  | "hip"
  | "xpu"
  | "npu"
  | "mps"
  | "cpu"
  | "tensorflow"
  | "xla"
  | "tpu"
  | "triton"
  | "serving"
  | "library"
  | "driver"
  | "host"
  | "framework";

/**
 * The memory that ran out: of a `device`, of the `host`, `shared` memory between processes (`/dev/shm`), or the memory
 * of one thread `block` on a GPU's or TPU's core.
 */
export type MemoryKind = "device" | "host" | "shared" | "block";

/** The reason why an allocator could not serve a request. */
export type AllocatorVerdict =
  /** There is not enough memory, and the process itself uses it. */
  | "full"
  /** The pool and the device together have enough free memory, but not in one piece. */
  | "fragmented"
  /** A limit that the program or its settings set is reached, not the end of the memory. */
  | "limited"
  /** There is not enough memory, and other processes on the device use more than the missing amount. */
  | "other-process"
  /** The device had more free memory than was requested, and its driver refused. */
  | "driver"
  /** The memory of the host ran out. */
  | "host"
  /** Shared memory ran out: `/dev/shm`, or the memory of one thread block on a GPU. */
  | "shared-memory"
  /** The request alone is larger than the device, or than any memory. */
  | "absurd"
  /** The text does not contain the size of the request, or the free memory. */
  | "unknown";

/** Another process on the device that the text names. */
export interface DeviceProcess {
  readonly pid: number;
  readonly bytes: number;
}

/** A buffer of a compiled program. */
export interface ProgramBuffer {
  readonly bytes: number;
  /** The path of the op, such as `jit(step)/jvp(Model)/dot_general`. */
  readonly op: string | undefined;
  /** The line of the program, as `file:line`. */
  readonly line: string | undefined;
  /** The dtype and the shape, as XLA writes them: `bf16[128,6,256,256]`. */
  readonly shape: string | undefined;
}

/** The memory of a program that XLA compiled. Sizes are in bytes. Undefined fields are not in the text. */
export interface CompiledProgram {
  /** The inputs: weights, optimizer state and data. */
  readonly parameterBytes: number | undefined;
  readonly constantBytes: number | undefined;
  /** The outputs, which may be alive when the program ends. */
  readonly outputBytes: number | undefined;
  /** The temporary buffers. */
  readonly temporaryBytes: number | undefined;
  readonly totalBytes: number | undefined;
  /** The part that is lost to fragmentation within the program's own buffers. */
  readonly fragmentationBytes: number | undefined;
  /** The largest buffers, in the order of the text. */
  readonly buffers: readonly ProgramBuffer[];
}

/**
 * The report of an allocator that ran out of memory. Sizes are in bytes. Undefined and missing fields are not in the
 * text, or the text breaks off before them.
 */
export interface AllocatorLog {
  /** The software that reports. */
  readonly kind: AllocatorKind;
  /** The allocator's own name, such as `GPU_0_bfc`, or for PyTorch the device, such as `GPU 0`. */
  readonly name: string;
  /** The memory that ran out. */
  readonly memory?: MemoryKind | undefined;
  /** The process that reports, such as `rank 1`, if the log names it. */
  readonly reporter?: string | undefined;
  /** The size of the failed request. */
  readonly askedBytes: number | undefined;
  /** The op of the failed request. */
  readonly op: string | undefined;
  /** The line of the program that requested the memory, as `file:line`. */
  readonly line?: string | undefined;
  /** The shape of the failed request. */
  readonly shape: readonly number[] | undefined;
  /** The dtype of the failed request. */
  readonly dtype: string | undefined;
  /** The allocator's limit, or the memory of the device. */
  readonly limitBytes: number | undefined;
  /** The part of the device that the program or its settings allow. */
  readonly allowedBytes?: number | undefined;
  /** Memory in use by tensors. */
  readonly inUseBytes: number | undefined;
  /** Memory taken from the device and not in use. */
  readonly pooledBytes: number | undefined;
  /** The error of `pooledBytes`, if it is the difference of two rounded sizes. */
  readonly pooledErrorBytes?: number | undefined;
  /** Memory that the allocator could still take from the device. */
  readonly availableBytes: number | undefined;
  /** Free memory that this request could not use: of other streams, CUDA graphs or private pools. */
  readonly unusableBytes?: number | undefined;
  /** The largest free block in the allocator's pool. */
  readonly largestFreeBytes: number | undefined;
  /** Memory of the device that this process uses, if the text says it. */
  readonly ownBytes?: number | undefined;
  /** Memory of this process outside the allocator, such as the driver's context and libraries. */
  readonly contextBytes?: number | undefined;
  /** Memory of the device that the text leaves over for other processes. */
  readonly othersBytes: number | undefined;
  /** The other processes that the text names. */
  readonly processes?: readonly DeviceProcess[] | undefined;
  /** The highest memory in use so far. */
  readonly peakBytes: number | undefined;
  /** The chunks by size, largest first. Empty if the log lists none. */
  readonly sizes: readonly ChunksOfSize[];
  /** The bins of the allocator. Empty if the log lists none. */
  readonly bins: readonly AllocatorBin[];
  /** The compiled program that failed. */
  readonly program?: CompiledProgram | undefined;
  /** True if a process was killed. `false` if the text does not say that memory was the reason. */
  readonly killedForMemory?: boolean | undefined;
  /** The reason, if the wording alone determines it. */
  readonly statedVerdict?: AllocatorVerdict | undefined;
  /** True if the log breaks off before its end. */
  readonly truncated: boolean;
}

/** Returns a log in which only the given fields are known. */
export function allocatorLog(known: Partial<AllocatorLog> & Pick<AllocatorLog, "kind" | "name">): AllocatorLog {
  return {
    askedBytes: undefined,
    op: undefined,
    shape: undefined,
    dtype: undefined,
    limitBytes: undefined,
    inUseBytes: undefined,
    pooledBytes: undefined,
    availableBytes: undefined,
    largestFreeBytes: undefined,
    othersBytes: undefined,
    peakBytes: undefined,
    sizes: [],
    bins: [],
    truncated: false,
    ...known,
  };
}
