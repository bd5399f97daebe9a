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

/** What an executor cannot change of when storages go, and what kernels hold while they run. @internal */
export interface EngineLifetimes {
  /** By op: 1 for one inside a forward and backward pass, where an executor follows. */
  readonly isInPass: Uint8Array;
  /** By storage the last op before the trace frees it; -1 for what is never freed, or before any op. */
  readonly freedAfter: Int32Array;
  /** By storage the op that it is held until at least, whoever reads it; -1 for none. */
  readonly heldUntil: Int32Array;
  /** By storage: 1 for what outlives the pass that it was made in. */
  readonly isSurvivor: Uint8Array;
  /** By storage: 1 for what was there all the time, though the trace meets it only when an op first reads it: a weight, an input. */
  readonly isFound: Uint8Array;
  /** By op, what its kernel holds at most besides its inputs and, in the end, its outputs. */
  readonly scratchBytes: Float64Array;
}

const foundCategories: ReadonlySet<number> = new Set([
  Category.parameter,
  Category.buffer,
  Category.input,
  Category.optimizerState,
]);

/** The trace's moments of one storage. */
interface Moments {
  readonly bornInPass: Int32Array;
  readonly freedInPass: Int32Array;
  /** The last op before it was freed; -1 for what is never freed. */
  readonly freedAfter: Int32Array;
}

/**
 * Reads from a trace what the marks around its passes say: inside a pass an executor frees the outputs of ops as planned; all else is freed when
 * the engine frees it. That is what is made outside, what outlives the pass, and what nothing can recompute, for which early release
 * counts: a saved tensor goes with the node that it was saved for, and what an update makes with its last reader. A trace without marks is one pass
 * as a whole.
 *
 * @param bytes what each storage counts for
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

/** Fills `moments`, and tells the passes by their last forward op. */
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
  /** Storages allocated since the last op, and, as `~storage`, freed; whether one is both. */
  let since: number[] = [];
  let isPassing = false;
  /** By storage: the last op before it was allocated. */
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
        // Outputs alone are no scratch.
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

/** The most that was held of what appeared for the op, beyond its outputs. */
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
    // Neither made by the op nor gone by its end: JavaScript made it before.
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

/** By op of the backward pass the last op of the same tape node; any other op itself. */
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
