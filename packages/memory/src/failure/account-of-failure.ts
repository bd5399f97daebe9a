import { Category, type CategoryName, categoryNames, type MemoryFailure, type Trace } from "@remat/trace";
import { DeviceRows } from "../held/device-rows.js";
import { HeldMemory } from "../held/held-memory.js";
import { makerOfStorage } from "../held/maker-of-storage.js";

/** Live memory allocated by ops of one name at one line of the program. */
export interface HeldByLine {
  /** The line, as `file:line:column`. Undefined if it is unknown, and for memory allocated before the step. */
  readonly line: string | undefined;
  /** The kernel, or undefined for memory that no op of the step has allocated. */
  readonly op: string | undefined;
  readonly category: CategoryName;
  /** The number of storages. */
  readonly count: number;
  readonly bytes: number;
}

/**
 * The reason why a run ran out of memory, as far as its trace shows it. Sizes are rounded up to the allocation unit.
 */
export interface FailureAccount {
  readonly failure: MemoryFailure;
  /** Memory in use when the run failed, in bytes. */
  readonly heldBytes: number;
  /** Memory in use when the run failed, by category. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** Memory in use by line, largest first. */
  readonly lines: readonly HeldByLine[];
  /** The part of the memory in use that was allocated before the step's first op: weights, optimizer state and data. */
  readonly restingBytes: number;
  /** The highest memory in use until the failure. At least this much memory is available. */
  readonly roomBytes: number;
  /**
   * A lower bound on the memory that the step needs: the resting memory, plus either the inputs and outputs of the
   * largest op or the failed request.
   */
  readonly leastBytes: number;
  /**
   * True if memory had grown over the steps by at least a tenth of the memory in use. If false, this step itself uses
   * the memory.
   */
  readonly isLeak: boolean;
  /** The advice for the program, or undefined if none exists. */
  readonly remedy: FailureRemedy | undefined;
}

/** The smallest change that would have avoided the failure. */
export type FailureRemedy =
  /** Each step leaves tensors behind. Find the lines that allocate them. */
  | { readonly kind: "leaks" }
  /** Free tensors that are no longer read, and recompute others. */
  | { readonly kind: "budget"; readonly budgetBytes: number }
  /** Use a fraction of the batch, in proportion to the step's own memory. */
  | { readonly kind: "smaller-batch"; readonly share: number }
  /** A snapshot of an allocator: see which memory was free, and in which pieces. */
  | { readonly kind: "explain" };

/** Growth is the cause of a failure if it is at least this fraction of the memory in use. */
const leakShare = 0.1;

/** A budget is suggested only if recomputation can reduce memory to this fraction. */
const worthwhile = 0.9;

/** Batches have at most a few thousand samples. */
const leastBatchShare = 1e-3;

/**
 * Explains why a run ran out of memory in the middle of a step. Returns undefined for a trace without a failure.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * accountOfFailure(await readTrace(file))?.lines[0]; // { line: "train.js:12:20", op: "Conv2D", bytes: … }
 */
export function accountOfFailure(trace: Trace): FailureAccount | undefined {
  const { failure, device } = trace.header;
  if (failure === undefined) return undefined;
  const held = new HeldMemory();
  held.take(trace);
  const { storages } = held;
  const index = storages.devices.indexOf(device);
  const rows = DeviceRows.of(storages);
  const heldBytes = rows.totalBytes(index);
  const roomBytes = held.peak(device).peakBytes;
  const lines = new Map<string, { -readonly [Field in keyof HeldByLine]: HeldByLine[Field] }>();
  let restingBytes = 0;
  for (let s = 0; s < trace.storages.count; s++) {
    if (!storages.isAlive(s) || storages.device[s] !== index || storages.bytes[s] === 0) continue;
    const maker = makerOfStorage(trace, s, storages.op[s]);
    const op = maker < 0 ? undefined : trace.opName(maker);
    const line = maker < 0 ? undefined : trace.opLine(maker);
    const category = categoryNames[storages.category[s]];
    if (isResting(storages.category[s])) restingBytes += storages.bytes[s];
    const key = `${line} ${op} ${category}`;
    let row = lines.get(key);
    if (row === undefined) lines.set(key, (row = { line, op, category, count: 0, bytes: 0 }));
    row.count++;
    row.bytes += storages.bytes[s];
  }
  const { askedBytes = 0, bytesPerStep = 0, stepsBefore = 0 } = failure;
  const leastBytes = restingBytes + Math.max(askedBytes, mostOfAnOp(trace, storages.bytes));
  const isLeak = bytesPerStep * stepsBefore >= leakShare * Math.max(1, heldBytes);
  const account = { failure, heldBytes, restingBytes, roomBytes, leastBytes, isLeak };
  // The ops of a snapshot are allocations, not those of a step.
  const isSnapshot = trace.header.framework === "cuda-allocator";
  return {
    ...account,
    bytesByCategory: rows.byCategory(index),
    lines: [...lines.values()].sort((a, b) => b.bytes - a.bytes),
    remedy: isSnapshot ? { kind: "explain" } : remedyOf(account),
  };
}

function remedyOf({
  failure: { cause, askedBytes = 0 },
  heldBytes,
  restingBytes,
  roomBytes,
  leastBytes,
  isLeak,
}: Omit<FailureAccount, "bytesByCategory" | "lines" | "remedy">): FailureRemedy | undefined {
  // Tensors are not in V8's heap. Objects that are there also accumulate by line.
  if (isLeak || cause === "heap") return { kind: "leaks" };
  if (leastBytes <= worthwhile * roomBytes) return { kind: "budget", budgetBytes: roomBytes };
  const ofStep = heldBytes - restingBytes + askedBytes;
  const share = (roomBytes - restingBytes) / Math.max(1, ofStep);
  return share > leastBatchShare && share < 1 ? { kind: "smaller-batch", share } : undefined;
}

const resting: ReadonlySet<number> = new Set([
  Category.parameter,
  Category.buffer,
  Category.optimizerState,
  Category.input,
]);
const isResting = (category: number): boolean => resting.has(category);

/** Returns the largest number of bytes that one op reads and creates, apart from resting memory. */
function mostOfAnOp(trace: Trace, bytes: Float64Array): number {
  let most = 0;
  for (let op = 0; op < trace.ops.count; op++) {
    const touched = new Set<number>();
    for (const tensors of [trace.opInputs(op), trace.opOutputs(op)])
      for (const tensor of tensors) for (const storage of trace.tensorStorages(tensor)) touched.add(storage);
    let sum = 0;
    for (const storage of touched) if (!isResting(trace.storages.category[storage])) sum += bytes[storage];
    if (sum > most) most = sum;
  }
  return most;
}
