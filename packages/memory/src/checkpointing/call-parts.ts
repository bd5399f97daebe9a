import { type CallIndex, OpFlag, type OpIndex, type StorageIndex, type TensorIndex } from "@remat/trace";
import { Act } from "./act.js";
import type { StepScript } from "./step-script.js";

/** A part of a module call whose ops run again as they were dispatched, without the program's own code. @internal */
export interface CallPart {
  readonly call: number;
  /** The place in the script where the part begins: its first op starts to create its results there. */
  readonly begin: number;
  /** The place in the script where the part ends: the next op starts to create its results there. */
  readonly end: number;
  /** The place of its last op. After that, the part ends when another call that runs again begins. */
  readonly lastOp: number;
  /**
   * The storages that its ops read, and that existed before it began or are created by an op whose results it keeps.
   */
  readonly args: readonly number[];
  /** The storages of `args` that no recomputed op reads. */
  readonly unread: readonly number[];
  /** The storages that its ops create, except those of ops whose results it keeps. */
  readonly made: ReadonlySet<number>;
  /**
   * For each op that never runs again, the positions of its results in `args`. These results are kept alive like
   * arguments.
   */
  readonly keptArgs: ReadonlyMap<number, readonly number[]>;
  /**
   * For each op that runs again on copies of the storages it writes into, the storages that are copied before it first
   * runs.
   */
  readonly copied: ReadonlyMap<number, readonly number[]>;
  /**
   * The ops that run again: ops that a saved tensor depends on, and random ops, so that the generator produces the same
   * numbers.
   */
  readonly rerun: ReadonlySet<number>;
  /** For each op that runs again, the storages that no later op needs. */
  readonly lastUses: ReadonlyMap<number, readonly number[]>;
  /** For each storage, the tensors on it that autograd saves in this part. */
  readonly savesOf: ReadonlyMap<number, readonly number[]>;
  /** The calls that are active when the part begins, outermost first, starting with its own call. */
  readonly active: readonly number[];
}

/** The information about the step that {@link CallParts} needs. @internal */
export interface CallPartRules {
  readonly opsOf: readonly (readonly number[])[];
  madeBy(op: OpIndex): readonly number[];
  /** Returns the ops that write into a storage before the last time that a call may have to run again. */
  writesOf(storage: StorageIndex, call: CallIndex): readonly number[];
  /** Returns why nothing in a call can run again, or undefined. */
  refusal(call: CallIndex): string | undefined;
}

/** Finds parts of calls. Each is computed once. @internal */
export class CallParts {
  private readonly script: StepScript;
  private readonly rules: CallPartRules;
  private readonly known = new Map<string, CallPart | Refusal>();
  /** For each op, the place in the script where it or the first of its results begins. */
  private readonly boundary: Int32Array;

  constructor(script: StepScript, rules: CallPartRules) {
    this.script = script;
    this.rules = rules;
    this.boundary = boundariesOf(script);
  }

  /**
   * Returns the part of a call between two positions in its forward ops, or the reason why that part cannot run again.
   */
  of(call: CallIndex, first: number, end: number, kept: readonly number[] = []): CallPart | string {
    const found = this.find(call, first, end, kept);
    return "reason" in found ? found.reason : found;
  }

  /**
   * Returns the positions of the ops whose results a part has to keep so that its other ops can run again: ops with
   * effects, and ops that read a storage that is written into later. Returns undefined if no op is left that could run
   * again.
   */
  keptIn(call: CallIndex, first: number, end: number): readonly number[] | undefined {
    let kept: readonly number[] = [];
    for (;;) {
      const found = this.find(call, first, end, kept);
      if (!("reason" in found)) return kept;
      if (found.op === undefined) return undefined;
      const place = this.rules.opsOf[call].indexOf(found.op);
      if (place < 0 || kept.includes(place)) return undefined;
      kept = [...kept, place].sort((a, b) => a - b);
    }
  }

  private find(call: CallIndex, first: number, end: number, kept: readonly number[]): CallPart | Refusal {
    const key = `${call} ${first} ${end} ${kept.join()}`;
    let found = this.known.get(key);
    if (found === undefined) this.known.set(key, (found = this.read(call, first, end, kept)));
    return found;
  }

  private read(call: CallIndex, first: number, beyond: number, places: readonly number[]): CallPart | Refusal {
    const { script, rules } = this;
    const { trace, act, subject, enter, exit } = script;
    if (enter[call] < 0 || exit[call] < 0) return { reason: "its forward pass does not begin and end" };
    const refusal = rules.refusal(call);
    if (refusal !== undefined) return { reason: refusal };
    const all = rules.opsOf[call];
    const ops = all.slice(first, beyond);
    if (ops.length === 0) return { reason: "it has no ops in that range" };
    const kept = new Set(places.map((place) => all[place]));
    const begin = this.boundary[ops[0]];
    const end = beyond < all.length ? this.boundary[all[beyond]] : exit[call];
    const lastOp = this.boundary[ops.at(-1)!];
    const made = new Set(ops.flatMap((op) => (kept.has(op) ? [] : rules.madeBy(op))));
    const args = this.argsOf(ops, made);
    const savesOf = new Map<number, number[]>();
    for (let at = begin; at < end; at++) {
      if (act[at] !== Act.save) continue;
      const storage = script.savedStorage[subject[at]];
      if (made.has(storage)) savesOf.set(storage, [...(savesOf.get(storage) ?? []), subject[at]]);
    }
    if (savesOf.size === 0) return { reason: "it saves none of its results" };
    const running = ops.filter((op) => !kept.has(op));
    const { rerun, lastUses, needed } = followBack(script, running, made, savesOf);
    const copied = this.copiesFor(rerun, made);
    const refused =
      this.whyNotKept(kept, needed) ??
      this.whyNot(call, rerun, { made, copied }) ??
      this.whyNotSaved(call, savesOf.keys(), ops.at(-1)!);
    if (refused !== undefined) return refused;
    const keptArgs = new Map([...kept].map((op) => [op, placesIn(args, rules.madeBy(op))]));
    const isRead = new Set([...rerun].flatMap((op) => storagesOf(trace, trace.opInputs(op))));
    const unread = args.filter((storage) => !isRead.has(storage));
    const active = this.activeAt(call, begin);
    return { call, begin, end, lastOp, args, unread, made, keptArgs, copied, rerun, lastUses, savesOf, active };
  }

  private argsOf(ops: readonly OpIndex[], made: ReadonlySet<number>): number[] {
    const { trace, maker } = this.script;
    const found = new Set<number>();
    for (const op of ops)
      for (const tensor of trace.opInputs(op))
        for (const storage of trace.tensorStorages(tensor))
          if (maker[storage] >= 0 && !made.has(storage)) found.add(storage);
    return [...found];
  }

  /**
   * Returns the reason why an op cannot run again: it has effects, or one of its inputs is overwritten later by an op
   * that does not also run again.
   */
  private whyNot(
    call: CallIndex,
    rerun: ReadonlySet<number>,
    { made, copied }: Pick<CallPart, "made" | "copied">,
  ): Refusal | undefined {
    const { trace } = this.script;
    const { rules } = this;
    for (const op of rerun) {
      if (trace.ops.flags[op] & OpFlag.effectful) return { reason: `${trace.opName(op)} does more than compute`, op };
      for (const storage of storagesOf(trace, trace.opInputs(op))) {
        if (made.has(storage) || copied.get(op)?.includes(storage)) continue;
        const written = rules.writesOf(storage, call).at(-1) ?? -1;
        if (written >= op) return { reason: `${trace.opName(written)} writes into one of its inputs`, op };
      }
    }
    return undefined;
  }

  /**
   * Returns the reason why the saved tensors rule the part out: one of them is overwritten as a whole after the part
   * ends, and the backward pass reads the new contents. Writes into slices are allowed, since each slice is written and
   * then saved.
   */
  private whyNotSaved(call: CallIndex, saved: Iterable<number>, last: number): Refusal | undefined {
    const { trace, maker } = this.script;
    const most = (storage: StorageIndex, tensors: Int32Array): number =>
      Math.max(
        0,
        ...Array.from(tensors, (one) => (trace.tensorStorages(one).includes(storage) ? sizeOf(trace, one) : 0)),
      );
    for (const storage of saved) {
      const whole = most(storage, trace.opOutputs(maker[storage]));
      const written = this.rules
        .writesOf(storage, call)
        .find((op) => op > last && most(storage, trace.opWrites(op)) >= whole);
      if (written !== undefined)
        return { reason: `${trace.opName(written)} writes into an already saved tensor`, op: maker[storage] };
    }
    return undefined;
  }

  /**
   * Finds ops that write into storages from outside of the part and can run again on copies, if the copies are smaller
   * than their results. Only ATen ops qualify, since their schema declares all effects. Random ops do not qualify,
   * because the program draws them from the storage they write into.
   */
  private copiesFor(rerun: ReadonlySet<number>, made: ReadonlySet<number>): Map<number, readonly number[]> {
    const { trace, bytes } = this.script;
    const sum = (storages: readonly StorageIndex[]) => storages.reduce((total, storage) => total + bytes[storage], 0);
    const copied = new Map<number, readonly number[]>();
    for (const op of rerun) {
      if (trace.ops.flags[op] & (OpFlag.effectful | OpFlag.random) || !trace.opName(op).startsWith("aten.")) continue;
      const written = storagesOf(trace, trace.opWrites(op)).filter((storage) => !made.has(storage));
      if (written.length > 0 && sum(written) < sum(this.rules.madeBy(op))) copied.set(op, written);
    }
    return copied;
  }

  /**
   * Returns the reason why an op's results cannot be kept: it draws random numbers, so that later numbers would differ,
   * or it writes into a tensor that is recomputed.
   */
  private whyNotKept(kept: ReadonlySet<number>, needed: ReadonlySet<number>): Refusal | undefined {
    const { trace } = this.script;
    for (const op of kept) {
      if (trace.ops.flags[op] & OpFlag.random) return { reason: `${trace.opName(op)} is random` };
      if (storagesOf(trace, trace.opWrites(op)).some((storage) => needed.has(storage)))
        return { reason: `${trace.opName(op)} writes into a recomputed tensor` };
    }
    return undefined;
  }

  private activeAt(call: CallIndex, begin: number): number[] {
    const { act, subject, enter } = this.script;
    const active = [call];
    for (let at = enter[call] + 1; at < begin; at++) {
      if (act[at] === Act.enter) active.push(subject[at]);
      else if (act[at] === Act.exit) active.splice(active.lastIndexOf(subject[at]), 1);
    }
    return active;
  }
}

/** Why a part cannot run again. `op` is the op of the part that is the reason, if any. */
interface Refusal {
  readonly reason: string;
  readonly op?: number;
}

const placesIn = (list: readonly number[], items: readonly number[]): readonly number[] =>
  items.map((item) => list.indexOf(item)).filter((place) => place >= 0);

/** Finds the ops that have to run again for the saved tensors, and until when each result is needed. */
function followBack(
  { trace }: StepScript,
  ops: readonly OpIndex[],
  made: ReadonlySet<number>,
  savesOf: ReadonlyMap<number, readonly number[]>,
): Pick<CallPart, "rerun" | "lastUses"> & { readonly needed: ReadonlySet<number> } {
  const needed = new Set(savesOf.keys());
  const rerun = new Set<number>();
  const lastUses = new Map<number, number[]>();
  const isUsed = new Set<number>();
  for (const op of ops.toReversed()) {
    // An op may write into a tensor that it does not return.
    const outputs = [...new Set([trace.opOutputs(op), trace.opWrites(op)].flatMap((each) => storagesOf(trace, each)))];
    if (!outputs.some((storage) => needed.has(storage)) && (trace.ops.flags[op] & OpFlag.random) === 0) continue;
    rerun.add(op);
    const inputs = storagesOf(trace, trace.opInputs(op)).filter((storage) => made.has(storage));
    for (const storage of inputs) needed.add(storage);
    for (const storage of new Set([...inputs, ...outputs])) {
      if (!made.has(storage) || isUsed.has(storage)) continue;
      isUsed.add(storage);
      lastUses.set(op, [...(lastUses.get(op) ?? []), storage]);
    }
  }
  return { rerun, lastUses, needed };
}

function sizeOf(trace: StepScript["trace"], tensor: TensorIndex): number {
  return trace.tensorShape(tensor).reduce((size, length) => size * length, 1);
}

function storagesOf(trace: StepScript["trace"], tensors: Int32Array): number[] {
  return [...new Set(Array.from(tensors).flatMap((tensor) => [...trace.tensorStorages(tensor)]))];
}

function boundariesOf({ act, subject, count, maker, scratchOf, trace }: StepScript): Int32Array {
  const boundary = new Int32Array(trace.ops.count).fill(-1);
  for (let at = 0; at < count; at++) {
    const item = subject[at];
    const op = act[at] === Act.op ? item : act[at] === Act.make ? Math.max(maker[item], scratchOf[item]) : -1;
    if (op >= 0 && boundary[op] < 0) boundary[op] = at;
  }
  return boundary;
}
