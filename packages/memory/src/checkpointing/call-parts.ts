import { OpFlag } from "@remat/trace";
import { Act } from "./act.js";
import type { StepScript } from "./step-script.js";

/** A part of a module call whose ops run again as they were dispatched, without the program's own code. @internal */
export interface CallPart {
  readonly call: number;
  /** Places of the script at which it begins and ends: where the op before which that is makes its results. */
  readonly begin: number;
  readonly end: number;
  /** The place of its last op: from there on it ends where another call that runs again begins. */
  readonly lastOp: number;
  /** The storages that its ops read and that were made before it began, and of these what no op that runs again reads. */
  readonly args: readonly number[];
  readonly unread: readonly number[];
  /** The storages that its ops make. */
  readonly made: ReadonlySet<number>;
  /** The ops that run again: those that something saved follows from, and random ones, by which the generator comes to the same numbers. */
  readonly rerun: ReadonlySet<number>;
  /** By op that runs again: the storages that none after it needs. */
  readonly lastUses: ReadonlyMap<number, readonly number[]>;
  /** By storage: what autograd saves of it in this part. */
  readonly savesOf: ReadonlyMap<number, readonly number[]>;
  /** The calls that are active when it begins, outer ones first, its own being the first. */
  readonly active: readonly number[];
}

/** What {@link CallParts} asks of the units around. @internal */
export interface CallPartRules {
  readonly opsOf: readonly (readonly number[])[];
  madeBy(op: number): readonly number[];
  /** The last op that writes into a storage while a call may have to run again; -1 for none. */
  lastWrite(storage: number, call: number): number;
  /** Why nothing in a call can run again. */
  refusal(call: number): string | undefined;
}

/** Finds parts of calls, each once. @internal */
export class CallParts {
  private readonly script: StepScript;
  private readonly rules: CallPartRules;
  private readonly known = new Map<string, CallPart | string>();
  /** By op: where it and what it makes begin in the script. */
  private readonly boundary: Int32Array;

  constructor(script: StepScript, rules: CallPartRules) {
    this.script = script;
    this.rules = rules;
    this.boundary = boundariesOf(script);
  }

  /** The part of a call between two places among its forward ops; why there is none where it cannot run again. */
  of(call: number, first: number, end: number): CallPart | string {
    const key = `${call} ${first} ${end}`;
    let found = this.known.get(key);
    if (found === undefined) this.known.set(key, (found = this.find(call, first, end)));
    return found;
  }

  private find(call: number, first: number, beyond: number): CallPart | string {
    const { script, rules } = this;
    const { trace, act, subject, enter, exit } = script;
    if (enter[call] < 0 || exit[call] < 0) return "its forward pass does not begin and end";
    const refusal = rules.refusal(call);
    if (refusal !== undefined) return refusal;
    const all = rules.opsOf[call];
    const ops = all.slice(first, beyond);
    if (ops.length === 0) return "it has no ops there";
    const begin = this.boundary[ops[0]];
    const end = beyond < all.length ? this.boundary[all[beyond]] : exit[call];
    const lastOp = this.boundary[ops.at(-1)!];
    const made = new Set(ops.flatMap((op) => rules.madeBy(op)));
    const args = this.argsOf(ops, made);
    const savesOf = new Map<number, number[]>();
    for (let at = begin; at < end; at++) {
      if (act[at] !== Act.save) continue;
      const storage = script.savedStorage[subject[at]];
      if (made.has(storage)) savesOf.set(storage, [...(savesOf.get(storage) ?? []), subject[at]]);
    }
    if (savesOf.size === 0) return "it saves nothing that it makes";
    const { rerun, lastUses } = followBack(script, ops, made, savesOf);
    const reason = this.whyNot(call, rerun, made);
    if (reason !== undefined) return reason;
    const isRead = new Set([...rerun].flatMap((op) => storagesOf(trace, trace.opInputs(op))));
    const unread = args.filter((storage) => !isRead.has(storage));
    const active = this.activeAt(call, begin);
    return { call, begin, end, lastOp, args, unread, made, rerun, lastUses, savesOf, active };
  }

  private argsOf(ops: readonly number[], made: ReadonlySet<number>): number[] {
    const { trace, maker } = this.script;
    const found = new Set<number>();
    for (const op of ops)
      for (const tensor of trace.opInputs(op))
        for (const storage of trace.tensorStorages(tensor))
          if (maker[storage] >= 0 && !made.has(storage)) found.add(storage);
    return [...found];
  }

  /** What is given to an op that runs again has to be as it was; what writes into it by the way does not run again. */
  private whyNot(call: number, rerun: ReadonlySet<number>, made: ReadonlySet<number>): string | undefined {
    const { trace } = this.script;
    const { rules } = this;
    for (const op of rerun) {
      if (trace.ops.flags[op] & OpFlag.effectful) return `${trace.opName(op)} does more than compute`;
      for (const storage of storagesOf(trace, trace.opInputs(op))) {
        const written = made.has(storage) ? -1 : rules.lastWrite(storage, call);
        if (written >= op) return `${trace.opName(written)} writes into what it is given`;
      }
    }
    return undefined;
  }

  private activeAt(call: number, begin: number): number[] {
    const { act, subject, enter } = this.script;
    const active = [call];
    for (let at = enter[call] + 1; at < begin; at++) {
      if (act[at] === Act.enter) active.push(subject[at]);
      else if (act[at] === Act.exit) active.splice(active.lastIndexOf(subject[at]), 1);
    }
    return active;
  }
}

/** What has to run again for what is saved, and until when each result is needed. */
function followBack(
  { trace }: StepScript,
  ops: readonly number[],
  made: ReadonlySet<number>,
  savesOf: ReadonlyMap<number, readonly number[]>,
): Pick<CallPart, "rerun" | "lastUses"> {
  const needed = new Set(savesOf.keys());
  const rerun = new Set<number>();
  const lastUses = new Map<number, number[]>();
  const isUsed = new Set<number>();
  for (const op of ops.toReversed()) {
    const outputs = storagesOf(trace, trace.opOutputs(op));
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
  return { rerun, lastUses };
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
