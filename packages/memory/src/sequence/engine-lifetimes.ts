import {
  Category,
  EventKind,
  gradientsEndMark,
  gradientsStartMark,
  OpFlag,
  type OpIndex,
  Phase,
  row,
  type Trace,
} from "@remat/trace";
import { freedByUpdates } from "./update-lifetimes.js";

/** Lifetimes of storages that an executor cannot change, and scratch memory of kernels. @internal */
export interface EngineLifetimes {
  /** For each op, 1 if it is inside a forward and backward pass, where an executor controls memory. */
  readonly isInPass: Uint8Array;
  /** For each storage, the last op before the trace frees it. It is -1 if it is never freed, or freed before any op. */
  readonly freedAfter: Int32Array;
  /** For each storage, the op until which it stays alive even if no op reads it, or -1 for none. */
  readonly heldUntil: Int32Array;
  /** For each storage, 1 if it outlives the pass in which it was created. */
  readonly isSurvivor: Uint8Array;
  /**
   * For each storage, 1 if it existed all the time although it appears in the trace only when an op first reads it,
   * such as a weight or an input.
   */
  readonly isFound: Uint8Array;
  /** For each op, the most scratch memory of its kernel at once, beyond its inputs and outputs. */
  readonly scratchBytes: Float64Array;
}

const foundCategories: ReadonlySet<number> = new Set([
  Category.parameter,
  Category.buffer,
  Category.input,
  Category.optimizerState,
]);

/** Events of storages in the trace. */
interface Moments {
  readonly bornInPass: Int32Array;
  readonly freedInPass: Int32Array;
  /** The last op before it was freed, or -1 if it is never freed. */
  readonly freedAfter: Int32Array;
}

/**
 * Reads the lifetimes that the marks around passes imply. Inside a pass, an executor frees the outputs of ops as
 * planned. Three groups of storages are freed when the engine frees them: those created outside, those that outlive the
 * pass, and those that cannot be recomputed. For the last group, early release applies: a saved tensor is freed with
 * the node that it was saved for, and a temporary of an update with its last reader. A trace without marks counts as
 * one pass.
 *
 * @param bytes the size of each storage
 * @internal
 */
export function engineLifetimes(trace: Trace, bytes: Float64Array): EngineLifetimes {
  const { ops, storages } = trace;
  const scratchBytes = new Float64Array(ops.count);
  const isInPass = new Uint8Array(ops.count).fill(1);
  const heldUntil = new Int32Array(storages.count).fill(-1);
  const isSurvivor = new Uint8Array(storages.count);
  const isFound = new Uint8Array(storages.count);
  const moments: Moments = {
    bornInPass: new Int32Array(storages.count).fill(-1),
    freedInPass: new Int32Array(storages.count).fill(-1),
    freedAfter: new Int32Array(storages.count).fill(-1),
  };
  const { freedAfter } = moments;
  const passes = readEvents(trace, moments, isInPass, scratchBytes, bytes);
  if (passes.length === 0)
    return { isInPass: isInPass.fill(1), freedAfter, heldUntil, isSurvivor, isFound, scratchBytes };

  const { maker, isRandom } = makersOf(trace);
  const lastReader = lastReadersOf(trace);
  const nodeEnd = nodeEndsOf(trace);
  const freedByUpdate = freedByUpdates(trace, maker, lastReader);
  const { bornInPass, freedInPass } = moments;
  for (let s = 0; s < storages.count; s++) {
    const pass = bornInPass[s];
    const isFreed = freedAfter[s] >= 0;
    if (maker[s] < 0 && !isFreed && foundCategories.has(storages.category[s])) isFound[s] = 1;
    if (pass < 0) {
      heldUntil[s] = maker[s] >= 0 || isFreed ? freedAfter[s] : -1;
      if (maker[s] >= 0) isSurvivor[s] = 1;
    } else if (freedInPass[s] !== pass) {
      isSurvivor[s] = 1;
      heldUntil[s] = freedAfter[s];
    } else if (maker[s] < 0 || isRandom[maker[s]] === 1) {
      const read = lastReader[s];
      const { forwardEnd } = passes[pass];
      const needed = read < 0 ? -1 : nodeEnd[read];
      const isForward = maker[s] >= 0 ? maker[s] <= forwardEnd : read <= forwardEnd || freedAfter[s] <= forwardEnd;
      heldUntil[s] = Math.min(freedAfter[s], isForward ? Math.max(needed, forwardEnd) : needed);
    }
    if (freedByUpdate[s] >= 0) heldUntil[s] = freedByUpdate[s];
  }
  return { isInPass, freedAfter, heldUntil, isSurvivor, isFound, scratchBytes };
}

/** Fills `moments`, and returns the passes with their last forward op. */
function readEvents(
  trace: Trace,
  { bornInPass, freedInPass, freedAfter }: Moments,
  isInPass: Uint8Array,
  scratchBytes: Float64Array,
  bytes: Float64Array,
): { forwardEnd: number }[] {
  const { events, ops, strings } = trace;
  const passes: { forwardEnd: number }[] = [];
  let pass = -1;
  let op = -1;
  /**
   * Storages allocated since the last op, and storages freed since then as `~storage`. Also whether any storage is
   * both.
   */
  let since: number[] = [];
  let isPassing = false;
  /** For each storage, the last op before it was allocated. */
  const bornAfter = new Int32Array(bytes.length).fill(-2);
  for (let e = 0; e < events.count; e++) {
    const subject = events.subject[e];
    switch (events.kind[e]) {
      case EventKind.mark:
        if (strings[subject] === gradientsStartMark) {
          pass = passes.length;
          passes.push({ forwardEnd: op });
        } else if (strings[subject] === gradientsEndMark) pass = -1;
        break;
      case EventKind.allocate:
        bornInPass[subject] = pass;
        bornAfter[subject] = op;
        since.push(subject);
        break;
      case EventKind.free:
        freedInPass[subject] = pass;
        freedAfter[subject] = op;
        if (bornAfter[subject] === op) isPassing = true;
        since.push(~subject);
        break;
      case EventKind.op: {
        // Outputs alone are not scratch memory.
        if (isPassing) scratchBytes[subject] = scratchOf(trace, subject, since, bytes);
        isPassing = false;
        since = [];
        op = subject;
        isInPass[op] = pass >= 0 ? 1 : 0;
        if (pass >= 0 && ops.phase[op] === Phase.forward) passes[pass].forwardEnd = op;
        break;
      }
    }
  }
  return passes;
}

/** Returns the largest amount of memory that storages for the op had at one time, without its outputs. */
function scratchOf(trace: Trace, op: OpIndex, since: readonly number[], bytes: Float64Array): number {
  const outputs = new Set(Array.from(trace.opOutputs(op)).flatMap((tensor) => trace.tensorStorages(tensor)));
  const born = new Set<number>();
  const passing = new Set<number>();
  for (const event of since) {
    if (event >= 0) born.add(event);
    else if (born.has(~event)) passing.add(~event);
  }
  let held = 0;
  let most = 0;
  let made = 0;
  for (const event of since) {
    const isFree = event < 0;
    const storage = isFree ? ~event : event;
    if (!born.has(storage)) continue;
    const isOutput = outputs.has(storage);
    // It is neither an output nor freed by the end of the op, so JavaScript made it before.
    if (!isOutput && !passing.has(storage)) continue;
    held += isFree ? -bytes[storage] : bytes[storage];
    if (isOutput && !isFree) made += bytes[storage];
    if (held > most) most = held;
  }
  return Math.max(0, most - made);
}

function makersOf(trace: Trace): { maker: Int32Array; isRandom: Uint8Array } {
  const { ops, storages } = trace;
  const maker = new Int32Array(storages.count).fill(-1);
  const isRandom = new Uint8Array(ops.count);
  const seen = new Uint8Array(storages.count);
  for (let op = 0; op < ops.count; op++) {
    isRandom[op] = (ops.flags[op] & OpFlag.random) !== 0 ? 1 : 0;
    for (const tensor of row(ops.inputs, op)) for (const storage of trace.tensorStorages(tensor)) seen[storage] = 1;
    for (const tensor of row(ops.outputs, op))
      for (const storage of trace.tensorStorages(tensor)) {
        if (seen[storage] === 0) maker[storage] = op;
        seen[storage] = 1;
      }
  }
  return { maker, isRandom };
}

function lastReadersOf(trace: Trace): Int32Array {
  const last = new Int32Array(trace.storages.count).fill(-1);
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of row(trace.ops.inputs, op))
      for (const storage of trace.tensorStorages(tensor)) last[storage] = op;
  return last;
}

/** Returns for each backward op the last op of the same tape node, and for any other op the op itself. */
function nodeEndsOf({ ops }: Trace): Int32Array {
  const ends = new Int32Array(ops.count);
  for (let op = ops.count - 1; op >= 0; op--) {
    const next = op + 1;
    const isSameNode =
      next < ops.count &&
      ops.phase[op] === Phase.backward &&
      ops.phase[next] === Phase.backward &&
      ops.forwardOp[op] === ops.forwardOp[next] &&
      ops.forwardScope[op] === ops.forwardScope[next];
    ends[op] = isSameNode ? ends[next] : op;
  }
  return ends;
}
