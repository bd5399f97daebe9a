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
 * The log of an allocator that ran out of memory. Sizes are in bytes. Undefined fields are not in the log, or the
 * log breaks off before them.
 */
export interface AllocatorLog {
  /** `bfc` is TensorFlow's "best fit with coalescing" allocator, `cuda` is PyTorch's caching allocator. */
  readonly kind: "bfc" | "cuda";
  /** The allocator's own name, such as `GPU_0_bfc`, or for PyTorch the device, such as `GPU 0`. */
  readonly name: string;
  /** The size of the failed request. */
  readonly askedBytes: number | undefined;
  /** The op of the failed request. */
  readonly op: string | undefined;
  /** The shape of the failed request. */
  readonly shape: readonly number[] | undefined;
  /** The dtype of the failed request. */
  readonly dtype: string | undefined;
  /** The allocator's limit, or the memory of the device. */
  readonly limitBytes: number | undefined;
  /** Memory in use by tensors. */
  readonly inUseBytes: number | undefined;
  /** Memory taken from the device and not in use. */
  readonly pooledBytes: number | undefined;
  /** Memory that the allocator could still take from the device. */
  readonly availableBytes: number | undefined;
  /** The largest free block in the allocator's pool. */
  readonly largestFreeBytes: number | undefined;
  /** Memory of the device that others use, such as other processes and libraries. */
  readonly othersBytes: number | undefined;
  /** The highest memory in use so far. */
  readonly peakBytes: number | undefined;
  /** The chunks by size, largest first. Empty if the log lists none. */
  readonly sizes: readonly ChunksOfSize[];
  /** The bins of the allocator. Empty if the log lists none. */
  readonly bins: readonly AllocatorBin[];
  /** True if the log breaks off before its end. */
  readonly truncated: boolean;
}
