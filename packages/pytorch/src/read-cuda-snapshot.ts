import { Category, type MemoryFailure, type StorageIndex, type Trace, TraceBuilder } from "@remat/trace";
import { asCudaSnapshot, type CudaSnapshotFile, type SnapshotOfDevice } from "./cuda-snapshot-file.js";
import { deviceOfSnapshot, framesOfStack, isOfProgram, lineOfFrame } from "./snapshot-device.js";

/** The framework of a trace from {@link readCudaSnapshot}. Such a trace has allocations and no ops of a model. */
const cudaAllocatorFramework = "cuda-allocator";

/** The number of frames in the name of an allocation. Its attributes have the whole stack. */
const namedFrames = 3;

/**
 * Returns a snapshot of PyTorch's CUDA allocator as a trace.
 *
 * The trace has an op for each allocation. The op's name contains the lines of the program that requested the memory,
 * innermost first. Its attributes contain the whole stack. Allocations from before the recorded history come first, as
 * far as they are known: blocks that the history frees but does not allocate, and blocks left at the end that it does
 * not allocate. With several GPUs, the one that ran out of memory is read, or else the one with the most reserved
 * memory. The header's `allocator` contains the reserved memory and the settings. If the history has an out-of-memory
 * error, the trace ends there, and the header's `failure` describes it.
 *
 * @throws RematError `CUDA_SNAPSHOT`
 * @example
 * const trace = readCudaSnapshot(JSON.parse(await readFile("snapshot.json", "utf8")));
 */
export function readCudaSnapshot(file: unknown): Trace {
  const snapshot = asCudaSnapshot(file);
  const device = deviceOfSnapshot(snapshot);
  const streams = new Set(device.segments.map(({ stream }) => stream));
  const builder = new TraceBuilder({
    framework: cudaAllocatorFramework,
    device: `cuda:${device.device}`,
    mode: "real",
    allocationUnitBytes: 512,
    model: "snapshot",
    allocator: { settings: snapshot.settings, reservedPeakBytes: mostReserved(device) },
    ...failureOf(snapshot, device),
    notes: [
      ...(device.trace.length === 0
        ? ["no history: torch.cuda.memory._record_memory_history() was not called, so this is a single moment"]
        : []),
      ...(snapshot.devices.length > 1
        ? [
            `${snapshot.devices.length} GPUs: the one ${device.failures === undefined ? "with the most memory in use" : "that ran out of memory"} is shown`,
          ]
        : []),
      ...(streams.size > 1
        ? [`${streams.size} streams, each with its own segments: reserved memory is predicted as for one stream`]
        : []),
    ],
  });
  new SnapshotReader(builder, snapshot, device).read();
  return builder.build();
}

/** Describes the last out-of-memory error, for the header. */
function failureOf(snapshot: CudaSnapshotFile, { failures }: SnapshotOfDevice): { readonly failure?: MemoryFailure } {
  const last = failures?.at(-1);
  if (last === undefined) return {};
  const [, askedBytes, , , stack] = last;
  const frame = framesOfStack(snapshot, stack).find(([file]) => isOfProgram(file));
  return {
    failure: { cause: "kernel", askedBytes, ...(frame && { op: frame[2], line: `${lineOfFrame(frame)}:1` }) },
  };
}

/** Returns the peak of the reserved memory, computed backwards from the segments at the end. */
function mostReserved({ segments, trace }: SnapshotOfDevice): number {
  let reserved = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  let most = reserved;
  for (const [action, , bytes] of trace.toReversed()) {
    if (action === "segment_alloc" || action === "segment_map") reserved -= bytes;
    else if (action === "segment_free" || action === "segment_unmap") reserved += bytes;
    most = Math.max(most, reserved);
  }
  return most;
}

class SnapshotReader {
  private readonly builder: TraceBuilder;
  private readonly snapshot: CudaSnapshotFile;
  private readonly device: SnapshotOfDevice;
  /** For each address, the storage that is there. */
  private readonly live = new Map<number, number>();

  constructor(builder: TraceBuilder, snapshot: CudaSnapshotFile, device: SnapshotOfDevice) {
    this.builder = builder;
    this.snapshot = snapshot;
    this.device = device;
  }

  read(): void {
    for (const [address, { bytes, stack }] of [...this.thereBefore()].sort(([a], [b]) => a - b)) {
      const storage = this.builder.allocate(bytes, undefined, Category.other);
      this.live.set(address, storage);
      this.builder.op(this.opOf(stack, storage, bytes));
    }
    const { trace, failures } = this.device;
    for (const [action, address, bytes, , stack] of trace.slice(0, failures?.at(-1)?.[0])) {
      const storage = this.live.get(address);
      if (action === "alloc") {
        // The history has lost the free of the earlier block.
        if (storage !== undefined) this.builder.free(storage);
        const made = this.builder.allocate(bytes, undefined, Category.other);
        this.live.set(address, made);
        this.builder.op(this.opOf(stack, made, bytes));
      } else if (action === "free_requested" && storage !== undefined) {
        this.builder.free(storage);
        this.live.delete(address);
      }
    }
  }

  /**
   * Returns the blocks from before the history, by address: blocks that the history frees but does not allocate, and
   * blocks in use at the end that it does not allocate.
   */
  private thereBefore(): Map<number, { bytes: number; stack: number }> {
    const before = new Map<number, { bytes: number; stack: number }>();
    const met = new Set<number>();
    for (const [action, address, bytes, , stack] of this.device.trace) {
      if (action === "free_requested" && !met.has(address)) before.set(address, { bytes, stack });
      if (action === "alloc" || action === "free_requested") met.add(address);
    }
    for (const { blocks } of this.device.segments)
      for (const [address, , requestedBytes, isActive, stack] of blocks)
        if (isActive === 1 && !met.has(address)) before.set(address, { bytes: requestedBytes, stack });
    return before;
  }

  private opOf(stack: number, storage: StorageIndex, bytes: number) {
    const frames = framesOfStack(this.snapshot, stack);
    const own = frames.filter(([file]) => isOfProgram(file));
    const [innermost] = own;
    const named = (own.length > 0 ? own : frames).slice(0, namedFrames);
    return {
      name: named.map(([file, line, name]) => `${file.split("/").at(-1)}:${line} ${name}`).join(" < ") || "no stack",
      ...(innermost !== undefined && { line: `${lineOfFrame(innermost)}:1` }),
      ...(frames.length > 0 && {
        attributes: { stack: frames.map(([file, line, name]) => `${file}:${line} ${name}`) },
      }),
      outputs: [this.builder.tensor({ storage, dtype: "uint8", shape: [bytes] })],
    };
  }
}
