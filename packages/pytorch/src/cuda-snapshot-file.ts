import { RematError } from "@remat/trace";

/** The kinds of events in the history of the CUDA allocator. */
const snapshotActions = [
  "alloc",
  "free_requested",
  "free_completed",
  "segment_alloc",
  "segment_free",
  "segment_map",
  "segment_unmap",
] as const;

/** A block: its address, its bytes, the requested bytes, 1 if it is in use, and its stack or -1. */
export type SnapshotBlock = readonly [
  address: number,
  bytes: number,
  requestedBytes: number,
  isActive: number,
  stack: number,
];

/** An event: its action, address and bytes, the stream, and the stack or -1. */
export type SnapshotEvent = readonly [
  action: (typeof snapshotActions)[number],
  address: number,
  bytes: number,
  stream: number,
  stack: number,
];

/** An out-of-memory error: the number of earlier events, the requested bytes, the free bytes of the device, the stream, and the stack or -1. */
export type SnapshotFailure = readonly [
  events: number,
  bytes: number,
  deviceFreeBytes: number,
  stream: number,
  stack: number,
];

/** The state of the allocator on one GPU at the end, and the history before. */
export interface SnapshotOfDevice {
  /** The number of the GPU. */
  readonly device: number;
  /** The segments at the end, with their blocks. */
  readonly segments: readonly {
    readonly bytes: number;
    readonly stream: number;
    readonly blocks: readonly SnapshotBlock[];
    /** 1 if only a CUDA graph or a `torch.cuda.MemPool` may use the segment. */
    readonly isPrivate?: number;
  }[];
  /** The events of the history, in order. */
  readonly trace: readonly SnapshotEvent[];
  /** The out-of-memory errors of the history, in order. Left out if there are none. */
  readonly failures?: readonly SnapshotFailure[];
}

/** The content of a file of `remat.export_snapshot`, with the schema `cuda-snapshot/1`. */
export interface CudaSnapshotFile {
  readonly schema: string;
  /** The value of `PYTORCH_CUDA_ALLOC_CONF`, or empty if it is not set. */
  readonly settings: string;
  readonly devices: readonly SnapshotOfDevice[];
  /** Stacks as lists of frames, innermost first. */
  readonly stacks: readonly (readonly number[])[];
  readonly frames: readonly (readonly [file: string, line: number, name: string])[];
}

/** The schema of {@link CudaSnapshotFile}. */
const cudaSnapshotSchema = "cuda-snapshot/1";

/**
 * Returns `value` as a snapshot of the CUDA allocator.
 *
 * @throws RematError `CUDA_SNAPSHOT`, with the reason
 * @internal
 */
export function asCudaSnapshot(value: unknown): CudaSnapshotFile {
  const file = asRecord(value, "the file");
  if (file["schema"] !== cudaSnapshotSchema)
    throw damaged(`expected schema ${cudaSnapshotSchema}, found ${JSON.stringify(file["schema"]) ?? "none"}`);
  if (typeof file["settings"] !== "string") throw damaged("expected a text as 'settings'");
  const stacks = asList(file["stacks"], "stacks");
  const frames = asList(file["frames"], "frames");
  frames.forEach((frame, i) => {
    const [name, line, of] = asList(frame, `frame ${i}`);
    if (typeof name !== "string" || !isCount(line) || typeof of !== "string")
      throw damaged(`frame ${i}: expected file, line and name`);
  });
  stacks.forEach((stack, i) =>
    asList(stack, `stack ${i}`).forEach((frame) => {
      if (!isCount(frame) || frame >= frames.length)
        throw damaged(`stack ${i}: expected one of ${frames.length} frames, found ${String(frame)}`);
    }),
  );
  const checkStack = (stack: unknown, where: string): void => {
    if (!Number.isInteger(stack) || (stack as number) < -1 || (stack as number) >= stacks.length)
      throw damaged(`${where}: expected one of ${stacks.length} stacks or -1, found ${String(stack)}`);
  };
  const devices = asList(file["devices"], "devices");
  if (devices.length === 0) throw damaged("it has no device: nothing was allocated when it was written");
  devices.forEach((item, d) => {
    const device = asRecord(item, `device ${d}`);
    if (!isCount(device["device"])) throw damaged(`device ${d}: expected its number`);
    asList(device["segments"], "segments").forEach((one, s) => {
      const segment = asRecord(one, `segment ${s}`);
      if (!isCount(segment["bytes"]) || !isCount(segment["stream"]))
        throw damaged(`segment ${s}: expected 'bytes' and 'stream'`);
      asList(segment["blocks"], "blocks").forEach((block, b) => {
        const fields = asList(block, `block ${b}`);
        if (fields.length !== 5 || !fields.slice(0, 4).every(isCount))
          throw damaged(`block ${b} of segment ${s}: expected five numbers`);
        checkStack(fields[4], `block ${b} of segment ${s}`);
      });
    });
    asList(device["trace"], "trace").forEach((event, e) => {
      const [action, ...fields] = asList(event, `event ${e}`);
      if (!(snapshotActions as readonly unknown[]).includes(action))
        throw damaged(`event ${e}: unknown action ${JSON.stringify(action)}`);
      if (fields.length !== 4 || !fields.slice(0, 3).every(isCount))
        throw damaged(`event ${e}: expected an address, bytes and a stream`);
      checkStack(fields[3], `event ${e}`);
    });
    asList(device["failures"] ?? [], "failures").forEach((failure, f) => {
      const fields = asList(failure, `failure ${f}`);
      if (fields.length !== 5 || !fields.slice(0, 4).every(isCount))
        throw damaged(`failure ${f}: expected five numbers`);
      checkStack(fields[4], `failure ${f}`);
    });
  });
  return value as CudaSnapshotFile;
}

function asRecord(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged(`${what}: expected an object`);
  return value as Readonly<Record<string, unknown>>;
}

function asList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw damaged(`${what}: expected a list, found ${typeof value}`);
  return value;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isInteger(value);
}

function damaged(found: string): RematError {
  return new RematError(
    "CUDA_SNAPSHOT",
    `snapshot of the CUDA allocator: ${found}. Write it again: python -m remat snapshot snapshot.pickle snapshot.json.gz.`,
  );
}
