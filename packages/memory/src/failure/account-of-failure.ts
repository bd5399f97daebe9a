import { Category, type CategoryName, categoryNames, type MemoryFailure, type Trace } from "@remat/trace";
import { DeviceRows } from "../held/device-rows.js";
import { HeldMemory } from "../held/held-memory.js";
import { makerOfStorage } from "../held/maker-of-storage.js";

/** What one line of the program, or none, has made by ops of one name, and holds. */
export interface HeldByLine {
  /** As `file:line:column`; undefined where no line is known, and of what was there before the step. */
  readonly line: string | undefined;
  /** The kernel; undefined of what no op of the step has made. */
  readonly op: string | undefined;
  readonly category: CategoryName;
  readonly count: number;
  readonly bytes: number;
}

/** Why a run had no memory left, as far as its trace tells. Bytes as allocated. */
export interface FailureAccount {
  readonly failure: MemoryFailure;
  /** Held when it failed. */
  readonly heldBytes: number;
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** Who holds it, the most first. */
  readonly lines: readonly HeldByLine[];
  /** Of it: the weights, optimizer state and data that were there before the step's first op. */
  readonly restingBytes: number;
  /** The most that was held until then, which is what there was room for. */
  readonly roomBytes: number;
  /** What any way to run these ops holds at least: what rests, and with it the inputs and outputs of the op that has most of them, or what was asked for. */
  readonly leastBytes: number;
  /** Whether what was held had grown for steps, to a tenth of it or more; else it is this step's own. */
  readonly isLeak: boolean;
  readonly remedy: FailureRemedy | undefined;
}

/** The smallest change that would have left room. */
export type FailureRemedy =
  /** Nothing less than what is left from step to step: to be looked for by line. */
  | { readonly kind: "leaks" }
  /** To free what is not read any more, and recompute what is. */
  | { readonly kind: "budget"; readonly budgetBytes: number }
  /** A part of the batch, by proportion of what the step itself holds. */
  | { readonly kind: "smaller-batch"; readonly share: number };

/** What has grown is the reason where it is as much of what is held. */
const leakShare = 0.1;

/** Less room by recomputing is worth its time where it is as much less. */
const worthwhile = 0.9;

/** Batches are of a few thousand samples at most. */
const leastBatchShare = 1e-3;

/**
 * Returns the account of a run that ended for lack of memory in the midst of a step; undefined of a trace of any other.
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
  return {
    ...account,
    bytesByCategory: rows.byCategory(index),
    lines: [...lines.values()].sort((a, b) => b.bytes - a.bytes),
    remedy: remedyOf(account),
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
  // Tensors are not in V8's heap: what is, grows by line, too.
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

/** The most that an op reads and makes besides what rests. */
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
