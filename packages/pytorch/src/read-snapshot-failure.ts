import { asCudaSnapshot, type SnapshotFailure, type SnapshotOfDevice } from "./cuda-snapshot-file.js";
import { deviceOfSnapshot, framesOfStack, isOfProgram, lineOfFrame } from "./snapshot-device.js";

/** The state of PyTorch's CUDA allocator when it ran out of memory. */
export interface CudaAllocatorFailure {
  /** The number of the GPU. */
  readonly device: number;
  /** The size of the failed request. */
  readonly askedBytes: number;
  /** The function that requested the memory, if the snapshot has stacks. */
  readonly op: string | undefined;
  /** The line of the program that requested the memory, as `file:line`. */
  readonly line: string | undefined;
  /**
   * True if the snapshot was written later, when the program had freed or requested more memory. The blocks of the
   * failure are then unknown.
   */
  readonly truncated: boolean;
  /** Memory in use by tensors, or not freed yet because another stream may use it. */
  readonly inUseBytes: number | undefined;
  /** Free memory of the device, outside the allocator. */
  readonly availableBytes: number;
  /** Free memory in segments that the request could use: those of its stream, outside private pools. */
  readonly pooledBytes: number | undefined;
  /** The largest free block of these segments. */
  readonly largestFreeBytes: number | undefined;
  /** Free memory in segments of other streams, CUDA graphs and private pools, which the request could not use. */
  readonly unusableBytes: number | undefined;
  /** The blocks of the segments that the request could use, by size. */
  readonly sizes: readonly { readonly bytes: number; readonly inUse: number; readonly free: number }[];
}

/**
 * Reads the last out-of-memory error of a snapshot of PyTorch's CUDA allocator, and the blocks of that moment. Returns
 * undefined if the history has no such error.
 *
 * @throws RematError `CUDA_SNAPSHOT`
 * @example
 * readSnapshotFailure(JSON.parse(text))?.largestFreeBytes;
 */
export function readSnapshotFailure(file: unknown): CudaAllocatorFailure | undefined {
  const snapshot = asCudaSnapshot(file);
  const device = deviceOfSnapshot(snapshot);
  const failure = device.failures?.at(-1);
  if (failure === undefined) return undefined;
  const [events, askedBytes, availableBytes, , stack] = failure;
  const truncated = device.trace.length > events;
  const frame = framesOfStack(snapshot, stack).find(([name]) => isOfProgram(name));
  return {
    device: device.device,
    askedBytes,
    op: frame?.[2],
    line: frame && lineOfFrame(frame),
    availableBytes,
    truncated,
    ...(truncated ? unknownBlocks : blocksAt(device, failure)),
  };
}

type Blocks = Pick<CudaAllocatorFailure, "inUseBytes" | "pooledBytes" | "largestFreeBytes" | "unusableBytes" | "sizes">;

const unknownBlocks: Blocks = {
  inUseBytes: undefined,
  pooledBytes: undefined,
  largestFreeBytes: undefined,
  unusableBytes: undefined,
  sizes: [],
};

function blocksAt({ segments }: SnapshotOfDevice, [, , , stream]: SnapshotFailure): Blocks {
  const sizes = new Map<number, { inUse: number; free: number }>();
  let [inUseBytes, pooledBytes, largestFreeBytes, unusableBytes] = [0, 0, 0, 0];
  for (const segment of segments) {
    const isUsable = segment.stream === stream && segment.isPrivate !== 1;
    for (const [, bytes, , isActive] of segment.blocks) {
      if (isActive === 1) inUseBytes += bytes;
      else if (isUsable) {
        pooledBytes += bytes;
        largestFreeBytes = Math.max(largestFreeBytes, bytes);
      } else unusableBytes += bytes;
      if (!isUsable) continue;
      const of = sizes.get(bytes) ?? { inUse: 0, free: 0 };
      of[isActive === 1 ? "inUse" : "free"]++;
      sizes.set(bytes, of);
    }
  }
  return {
    inUseBytes,
    pooledBytes,
    largestFreeBytes,
    unusableBytes,
    sizes: [...sizes].map(([bytes, of]) => ({ bytes, ...of })).sort((a, b) => b.bytes - a.bytes),
  };
}
