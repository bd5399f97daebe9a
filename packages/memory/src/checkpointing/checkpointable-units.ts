import {
  type CallIndex,
  EventKind,
  FsdpHook,
  OpFlag,
  type OpIndex,
  Phase,
  type StorageIndex,
  stateChangedMark,
  stateReplacedMark,
  stateWrittenMark,
  type Trace,
  transformedMark,
} from "@remat/trace";
import { Act } from "./act.js";
import { type CallPart, CallParts } from "./call-parts.js";
import { lastReadsOf, readAgain } from "./reads-of-calls.js";
import type { StepScript } from "./step-script.js";

/**
 * The modules of a step that `torch.utils.checkpoint` can run again, with the facts that a simulation needs. @internal
 */
export interface CheckpointableUnits {
  /** Names of the modules whose calls can all be checkpointed, outer modules before their submodules. */
  readonly fqns: readonly string[];
  /**
   * For each module name, its calls. Calls that save nothing, as under `torch.no_grad()`, never run again. They are
   * left out if other calls of the module save something.
   */
  readonly callsOf: ReadonlyMap<string, readonly number[]>;
  /**
   * Calls that several backward passes read from (`retain_graph`), so that each pass runs them again. Selective
   * checkpointing can run a call again only once.
   */
  readonly callsReadAgain: ReadonlySet<number>;
  /**
   * Places in the script where an op saves a tensor that it writes into afterwards, like the noise of
   * `rrelu_with_noise`. If no tensor is saved later in the call, the call runs again to its end.
   */
  readonly savedUnwritten: ReadonlySet<number>;
  /** For each call, the storages that its ops read and that existed before it began. */
  readonly args: readonly (readonly number[])[];
  /** For each call, its forward ops. */
  readonly opsOf: readonly (readonly number[])[];
  /** For each op, its runtime. */
  readonly runtimeMs: Float64Array;
  /** For each storage, 1 if the forward pass writes into it in place. */
  readonly isWritten: Uint8Array;
  /** Returns the storages that an op makes. */
  madeBy(op: OpIndex): readonly number[];
  /** For each module that cannot be checkpointed, the reason. */
  readonly refused: ReadonlyMap<string, string>;
  /**
   * Returns the part of a call between two positions among its forward ops, or the reason why it cannot run again. The
   * ops at `kept` do not run again, and their results are kept alive instead.
   */
  partOf(call: CallIndex, begin: number, end: number, kept?: readonly number[]): CallPart | string;
  /**
   * Returns the positions of the ops in a part whose results have to be kept so that its other ops can run again, or
   * undefined if none could.
   */
  keptIn(call: CallIndex, begin: number, end: number): readonly number[] | undefined;
}

/**
 * Finds the modules that can run again. Random ops are allowed, since the generator's state is restored. In-place ops
 * on tensors created by the same call are also allowed. A module cannot run again if one of its ops writes into a
 * storage from outside, if its code changes other state, or if an op does more than compute. The trace leaves out
 * writes to the running statistics of normalization layers, because the exporter undoes them.
 *
 * @internal
 */
export function checkpointableUnits(script: StepScript): CheckpointableUnits {
  const { trace, maker } = script;
  const { calls, modules, ops } = trace;
  const ranges = readRanges(script);
  const replacing = callsMarked(trace, stateReplacedMark);
  const changing = callsMarked(trace, stateChangedMark);
  const transformed = callsMarked(trace, transformedMark);
  const nameOfWrite = namesOfWrites(trace);
  const written = writtenStorages(trace);
  const writes = writesInForward(trace, written);
  const { savedUnwritten, lateWrites } = writesAfterSaves(script, written, ranges);
  const lastReads = lastReadsOf(script, ranges.callsOfSave);
  /** Returns writes without those after the last time that a call may run again, since these do not matter. */
  const writesOf = (storage: StorageIndex, call: CallIndex): readonly number[] =>
    (writes.get(storage) ?? []).filter((op) => op <= (lastReads.get(call) ?? -1));
  const lastWrite = (storage: StorageIndex, call: CallIndex): number => writesOf(storage, call).at(-1) ?? -1;
  const isOfModel = modelOf(modules.map(({ fqn }) => fqn));
  /** Returns the reason why nothing in a call can run again, independent of its ops. */
  const refusal = (call: CallIndex): string | undefined => {
    if (!isOfModel(modules[calls.module[call]].fqn)) return "it is not a module of the model";
    const replaced = replacing.get(call);
    if (replaced !== undefined) return `it replaces ${replaced || "its own weights or buffers"} as it runs`;
    return transformed.has(call) ? "it runs under a transform of torch.func" : undefined;
  };
  const savesSomewhere = new Set(ranges.saves.flatMap((saves, call) => (saves > 0 ? [calls.module[call]] : [])));
  const args: number[][] = [];
  const callsOf = new Map<string, number[]>();
  const refused = new Map<string, string>();
  for (let call = 0; call < calls.count; call++) {
    const { fqn } = modules[calls.module[call]];
    args.push(argsOf(script, call, ranges.opsOf[call]));
    if (ranges.saves[call] === 0 && savesSomewhere.has(calls.module[call])) continue;
    callsOf.set(fqn, [...(callsOf.get(fqn) ?? []), call]);
    const of = { saves: ranges.saves[call], written, lastWrite, nameOfWrite };
    const changed = changing.get(call);
    const changes = changed === undefined ? undefined : `its code changes ${changed || "state that outlives the call"}`;
    const late = lateWrites.get(call);
    const reason =
      refusal(call) ??
      changes ??
      whyNot(script, call, ranges.opsOf[call], of) ??
      (late === undefined ? undefined : `${trace.opName(late)} writes into an already saved tensor`);
    if (reason !== undefined) refused.set(fqn, reason);
  }
  const runtimeMs = ops.runtimeMs.map((ms) => (ms > 0 ? ms : 0));
  const made = new Map<number, number[]>();
  maker.forEach((op, storage) => {
    if (op >= 0) made.set(op, [...(made.get(op) ?? []), storage]);
  });
  const madeBy = (op: OpIndex): readonly number[] => made.get(op) ?? [];
  const parts = new CallParts(script, {
    opsOf: ranges.opsOf,
    madeBy,
    writesOf,
    refusal,
  });
  return {
    fqns: [...callsOf.keys()].filter((fqn) => !refused.has(fqn)),
    callsOf,
    callsReadAgain: readAgain(script, ranges.callsOfSave),
    savedUnwritten,
    args,
    opsOf: ranges.opsOf,
    runtimeMs,
    isWritten: Uint8Array.from({ length: maker.length }, (_, storage) => (writes.has(storage) ? 1 : 0)),
    madeBy,
    refused,
    partOf: (call, begin, end, kept) => parts.of(call, begin, end, kept),
    keptIn: (call, begin, end) => parts.keptIn(call, begin, end),
  };
}

interface Ranges {
  /** For each call, its forward ops, and how many tensors are saved in it. */
  readonly opsOf: number[][];
  readonly saves: number[];
  /** For each save, the calls that contain it. */
  readonly callsOfSave: ReadonlyMap<number, readonly number[]>;
}

function readRanges({ act, subject, count, trace }: StepScript): Ranges {
  const opsOf: number[][] = Array.from({ length: trace.calls.count }, () => []);
  const saves: number[] = new Array<number>(trace.calls.count).fill(0);
  const callsOfSave = new Map<number, readonly number[]>();
  const active: number[] = [];
  for (let at = 0; at < count; at++) {
    const item = subject[at];
    if (act[at] === Act.enter) active.push(item);
    else if (act[at] === Act.exit) active.splice(active.lastIndexOf(item), 1);
    else if (act[at] === Act.op) for (const call of active) opsOf[call].push(item);
    else if (act[at] === Act.save) {
      for (const call of active) saves[call]++;
      callsOfSave.set(item, [...active]);
    }
  }
  return { opsOf, saves, callsOfSave };
}

function argsOf({ trace, maker, enter }: StepScript, call: CallIndex, opsInside: readonly number[]): number[] {
  if (enter[call] < 0) return [];
  const inside = new Set(opsInside);
  const found = new Set<number>();
  // Storages that no op made belong to the caller and are always available.
  for (const op of opsInside)
    for (const tensor of trace.opInputs(op))
      for (const storage of trace.tensorStorages(tensor))
        if (maker[storage] >= 0 && !inside.has(maker[storage])) found.add(storage);
  return [...found];
}

function whyNot(
  { trace, maker, enter, exit }: StepScript,
  call: CallIndex,
  opsInside: readonly number[],
  {
    saves,
    written,
    lastWrite,
    nameOfWrite,
  }: {
    readonly saves: number;
    readonly written: WrittenStorages;
    readonly nameOfWrite: ReadonlyMap<number, string>;
    lastWrite(storage: StorageIndex, call: CallIndex): number;
  },
): string | undefined {
  if (enter[call] < 0 || exit[call] < 0) return "its forward pass does not begin and end";
  const inside = new Set(opsInside);
  const isForeign = (storage: StorageIndex): boolean => !inside.has(maker[storage]);
  for (const op of opsInside) {
    if (trace.ops.flags[op] & OpFlag.effectful) return `${trace.opName(op)} does more than compute`;
    for (const storage of written(op))
      if (isForeign(storage))
        return `${trace.opName(op)} writes into ${nameOfWrite.get(op) ?? "a tensor from outside the module"}`;
    for (const tensor of trace.opInputs(op))
      for (const storage of trace.tensorStorages(tensor)) {
        const last = lastWrite(storage, call);
        if (last > opsInside[0] && isForeign(storage))
          return `${trace.opName(last)} writes into ${nameOfWrite.get(last) ?? "one of its inputs"}`;
      }
  }
  // This check comes last, so that a module that changes state is reported whether or not it saves anything.
  return saves === 0 ? "it saves nothing for the backward pass" : undefined;
}

/**
 * Returns a check that separates the modules of the model from other modules that a step calls, such as a loss. Such
 * other modules have no name in the model, so a policy cannot refer to them.
 */
function modelOf(fqns: readonly string[]): (fqn: string) => boolean {
  const roots = new Set(fqns.filter((fqn) => fqn.includes(".")).map(rootOf));
  return (fqn) => roots.size === 0 || roots.has(rootOf(fqn));
}

const rootOf = (fqn: string): string => fqn.split(".", 1)[0];

/**
 * Finds the calls that contain a mark, including enclosing calls, with the subject of the mark. The subject is empty if
 * the recording does not name it.
 */
function callsMarked(trace: Trace, mark: string): ReadonlyMap<number, string> {
  const { events, moduleEvents, strings } = trace;
  const active = new Set<number>();
  const found = new Map<number, string>();
  for (let event = 0; event < events.count; event++) {
    const item = events.subject[event];
    switch (events.kind[event]) {
      case EventKind.enterModule:
        if (moduleEvents.phase[item] === Phase.forward) active.add(moduleEvents.call[item]);
        break;
      case EventKind.exitModule:
        if (moduleEvents.phase[item] === Phase.forward) active.delete(moduleEvents.call[item]);
        break;
      case EventKind.fsdpHook:
        // The other hooks of a call that run before its forward pass do not belong to it.
        if (events.value[event] === FsdpHook.preForwardEnd && moduleEvents.phase[item] === Phase.forward)
          found.delete(moduleEvents.call[item]);
        break;
      case EventKind.mark: {
        const subject = subjectOf(strings[item], mark);
        if (subject !== undefined) for (const call of active) found.set(call, found.get(call) || subject);
        break;
      }
    }
  }
  return found;
}

/** Returns, for each op that writes into a weight, buffer or attribute of the model, the name of that state. */
function namesOfWrites({ events, strings }: Trace): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  let name: string | undefined;
  for (let event = 0; event < events.count; event++) {
    const item = events.subject[event];
    if (events.kind[event] === EventKind.mark) name = subjectOf(strings[item], stateWrittenMark) ?? name;
    else if (events.kind[event] === EventKind.op) {
      if (name !== undefined) found.set(item, name);
      name = undefined;
    }
  }
  return found;
}

/** Returns the subject of a mark: empty if it has none, undefined for another mark. */
function subjectOf(text: string, mark: string): string | undefined {
  if (text === mark) return "";
  return text.startsWith(`${mark} `) ? text.slice(mark.length + 1) : undefined;
}

/** Returns the storages that existed before an op and that it writes into. */
type WrittenStorages = (op: OpIndex) => readonly number[];

const writtenStorages =
  (trace: Trace): WrittenStorages =>
  (op) =>
    Array.from(trace.opWrites(op)).flatMap((tensor) => [...trace.tensorStorages(tensor)]);

/**
 * Finds places where an op saves a tensor and then writes into it. For each call, it also finds an op that writes into
 * a tensor that the call has created and saved before. A call with such an op cannot run again.
 */
function writesAfterSaves(
  { act, subject, count, trace, maker, savedStorage }: StepScript,
  written: WrittenStorages,
  { opsOf, callsOfSave }: Ranges,
): { readonly savedUnwritten: ReadonlySet<number>; readonly lateWrites: ReadonlyMap<number, number> } {
  const savedUnwritten = new Set<number>();
  const lateWrites = new Map<number, number>();
  const opsInside = opsOf.map((ops) => new Set(ops));
  /** For each storage, the saves on it that are not released, and the places of saves since the previous op. */
  const saved = new Map<number, Set<number>>();
  let sinceOp: number[] = [];
  for (let at = 0; at < count; at++) {
    const item = subject[at];
    if (act[at] === Act.save) sinceOp.push(at);
    else if (act[at] === Act.unsave) saved.get(savedStorage[item])?.delete(item);
    else if (act[at] === Act.op) {
      if (trace.ops.phase[item] === Phase.forward)
        for (const storage of new Set(written(item))) {
          if (sinceOp.some((place) => savedStorage[subject[place]] === storage))
            for (const place of sinceOp) savedUnwritten.add(place);
          for (const save of saved.get(storage) ?? [])
            for (const call of callsOfSave.get(save) ?? [])
              if (opsInside[call].has(maker[storage])) lateWrites.set(call, item);
        }
      for (const place of sinceOp) {
        const storage = savedStorage[subject[place]];
        saved.set(storage, (saved.get(storage) ?? new Set()).add(subject[place]));
      }
      sinceOp = [];
    }
  }
  return { savedUnwritten, lateWrites };
}

/** For each storage, the forward ops that write into it. */
function writesInForward(trace: Trace, written: WrittenStorages): Map<number, number[]> {
  const writes = new Map<number, number[]>();
  for (let op = 0; op < trace.ops.count; op++) {
    if (trace.ops.phase[op] !== Phase.forward) continue;
    for (const storage of written(op)) {
      const before = writes.get(storage);
      if (before === undefined) writes.set(storage, [op]);
      else before.push(op);
    }
  }
  return writes;
}

/** Returns whether one module is inside another, judged by their names. @internal */
export function standsInside(fqn: string, other: string): boolean {
  return fqn[other.length] === "." && fqn.startsWith(other);
}
