/** Chunks of one size that an allocator had. */
export interface ChunksOfSize {
  readonly bytes: number;
  readonly inUse: number;
  readonly free: number;
}

/** Chunks that an allocator looks for by their size: from `fromBytes` on, to the next bin; or its pool for small ones, and for large ones. */
export interface AllocatorBin {
  readonly name: string;
  /** In use, and all that there are; undefined where the log does not count them. */
  readonly chunksInUse: number | undefined;
  readonly chunks: number | undefined;
  readonly inUseBytes: number;
  /** Held by the allocator, in use or not. */
  readonly reservedBytes: number;
}

/** What an allocator said when it had no memory left. Bytes; undefined is what its log does not tell, or breaks off before. */
export interface AllocatorLog {
  /** TensorFlow's "best fit with coalescing", or PyTorch's caching allocator of CUDA. */
  readonly kind: "bfc" | "cuda";
  /** As it calls itself: `GPU_0_bfc`; of PyTorch's the device, `GPU 0`. */
  readonly name: string;
  readonly askedBytes: number | undefined;
  /** Of what was asked for. */
  readonly op: string | undefined;
  readonly shape: readonly number[] | undefined;
  readonly dtype: string | undefined;
  /** What the allocator may have at most, or the device has. */
  readonly limitBytes: number | undefined;
  /** What is in use by tensors. */
  readonly inUseBytes: number | undefined;
  /** What it has taken from the device and nobody uses. */
  readonly pooledBytes: number | undefined;
  /** What it could still take from the device. */
  readonly availableBytes: number | undefined;
  /** The largest free block in its pool. */
  readonly largestFreeBytes: number | undefined;
  /** What others have on the device: other processes, libraries. */
  readonly othersBytes: number | undefined;
  readonly peakBytes: number | undefined;
  /** Largest first; empty where the log lists none. */
  readonly sizes: readonly ChunksOfSize[];
  readonly bins: readonly AllocatorBin[];
  /** Whether the log breaks off before the allocator has said all. */
  readonly truncated: boolean;
}
