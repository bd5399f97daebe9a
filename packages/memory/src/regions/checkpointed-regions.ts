import {
  bytesPerElement,
  Category,
  type CheckpointForm,
  EventKind,
  elementsOf,
  OpFlag,
  type OpIndex,
  Phase,
  type StorageIndex,
  type Trace,
} from "@remat/trace";
import { allocatedSizes } from "../allocators/device-units.js";
import { HeldMemory } from "../held/held-memory.js";
import { type RecomputingScope, recomputingScopes } from "./recomputing-scopes.js";
import { readSaves, type Saver, saverOf, type TracedSave } from "./savers.js";

/**
 * The reason why memory that a checkpointed region allocated is still alive when the region is over:
 *
 * - `result`: the region returned it
 * - `policy`: its policy of selective checkpointing saves it
 * - `viewReturned`: the region returned a view of a part, which keeps the rest alive
 * - `savedOutside`: an op or a region outside saved it for its own backward pass
 * - `program`: nothing saved it, so the program must refer to it in a list, an attribute, a closure or a cache
 * - `savedForNothing`: the region's own gradient function receives it and still recomputes it
 * - `unrepeatable`: the op that created it would give another result if it ran again
 * - `readOutside`: it was freed, but an op outside had it recomputed before the backward pass
 */
export type KeptCause =
  | "result"
  | "policy"
  | "viewReturned"
  | "savedOutside"
  | "program"
  | "savedForNothing"
  | "unrepeatable"
  | "readOutside";

/**
 * How a region is recomputed: in a {@link CheckpointForm}, or by a gradient function of the program (`customGrad` in
 * TensorFlow.js).
 */
export type RegionForm = CheckpointForm | "customGrad";

/** Memory that a region allocated and that is still alive when the region is over. */
export interface KeptByRegion {
  readonly cause: KeptCause;
  readonly storage: number;
  /**
   * Bytes, rounded up to the allocation unit. If only a part of a storage is returned, these are the bytes of that
   * part, or of the rest.
   */
  readonly bytes: number;
  /** The op in the region that created it, or undefined if it is not the result of an op. */
  readonly maker: number | undefined;
  /**
   * For `savedOutside`, the first op or region that saved it. For `readOutside`, the op that read it. Undefined if
   * unknown.
   */
  readonly saver: Saver | undefined;
  /** The op at which it was freed, or undefined if it is alive to the end. */
  readonly freedAt: number | undefined;
}

/**
 * Other reasons why checkpointing a region does not pay off:
 *
 * - `neverRecomputed`: no backward pass needed anything inside, so its inputs are kept alive for nothing
 * - `viewGiven`: it received a view, and keeps the whole storage of the view alive
 * - `reentrant`: the reentrant form also recomputes the region's results, which are not read. The non-reentrant form
 *   stops earlier.
 */
export type RegionFlaw = "neverRecomputed" | "viewGiven" | "reentrant";

/** One run of a checkpointed region. */
export interface CheckpointedRegion {
  /** Index into `trace.scopes`. */
  readonly scope: number;
  readonly form: RegionForm;
  /** The module call that is the region, or in which the region runs. Undefined outside of every module. */
  readonly module: string | undefined;
  /** How many times it was recomputed. */
  readonly recomputed: number;
  /** All memory that its ops allocated on the device, in bytes. */
  readonly madeBytes: number;
  /**
   * The part of `madeBytes` that is alive when the region is over, or alive again before the backward pass: the sum of
   * `kept`.
   */
  readonly heldBytes: number;
  /** The memory that is still alive, by storage and cause. */
  readonly kept: readonly KeptByRegion[];
  /** Other reasons why checkpointing the region does not pay off, with the bytes that each concerns. */
  readonly flaws: readonly { readonly flaw: RegionFlaw; readonly bytes: number }[];
}

/**
 * Returns the memory that each checkpointed region allocated and that is still alive when the region is over, with the
 * reasons. Regions are in the order in which they run. They are functions under `torch.utils.checkpoint`, and manually
 * checkpointed blocks of TensorFlow.js programs. A region nested in a recomputed one is described by its first run.
 * Empty for a trace without regions.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * for (const { module, kept } of checkpointedRegions(trace)) console.log(module, kept.filter(({ cause }) => cause === "program"));
 */
export function checkpointedRegions(trace: Trace): readonly CheckpointedRegion[] {
  const byHand = recomputingScopes(trace);
  const runs = readRuns(trace, byHand);
  if (runs.length === 0) return [];
  const saves = readSaves(trace);
  const savesOn = new Map<number, TracedSave[]>();
  for (const save of saves) savesOn.set(save.storage, [...(savesOn.get(save.storage) ?? []), save]);
  const reads = { trace, savesOn, sizes: allocatedSizes(trace) };
  return runs.map((run) => describeRun(run, reads));
}

interface Reads {
  readonly trace: Trace;
  /** Sizes by storage, rounded up to the allocation unit. */
  readonly sizes: Float64Array;
  readonly savesOn: ReadonlyMap<number, readonly TracedSave[]>;
}

/** The observations of a region. */
interface Run {
  readonly scope: number;
  readonly form: RegionForm;
  /** For `customGrad`, storages whose contents its gradient function recomputes. */
  readonly again: ReadonlySet<number>;
  readonly module: string | undefined;
  /** Positions of events. */
  readonly begin: number;
  end: number;
  recomputed: number;
  madeBytes: number;
  /** Storages created in its first run, and the bytes of those that are alive when it is over. */
  readonly made: number[];
  readonly alive: Map<number, number>;
  /** For each of these, the op at which it was freed. */
  readonly freedAt: Map<number, number>;
  /** For storages that were freed and alive again before the backward pass, the op that needed them. */
  readonly readAt: Map<number, number>;
  /** Ops of the first run, and of the current recomputation. */
  readonly ops: number[];
  readonly opsAgain: number[];
  /** The run that is in progress. */
  state: "first" | "again" | "over";
}

function readRuns(trace: Trace, byHand: ReadonlyMap<number, RecomputingScope>): Run[] {
  const runs = new Map<number, Run>();
  const active: Run[] = [];
  const modules: number[] = [];
  const holders = new Map<number, Run[]>();
  const isOnDevice = (storage: StorageIndex): boolean =>
    trace.strings[trace.storages.device[storage]] === trace.header.device;
  const held: HeldMemory = new HeldMemory({
    freeing: (storage) => {
      for (const run of holders.get(storage) ?? []) run.freedAt.set(storage, held.nextOp - 1);
    },
    op: (op) => {
      for (const run of active) (run.state === "first" ? run.ops : run.opsAgain).push(op);
    },
    other: (kind, subject, _, event) => {
      if (kind === EventKind.enterModule) modules.push(trace.moduleEvents.call[subject]);
      else if (kind === EventKind.exitModule) modules.splice(modules.lastIndexOf(trace.moduleEvents.call[subject]), 1);
      else if (kind === EventKind.enterScope) enter(subject, event);
      else if (kind === EventKind.exitScope) exit(subject, event);
    },
  });
  const enter = (scope: number, event: number): void => {
    const own = byHand.get(scope);
    const form = trace.scopes[scope].checkpoint ?? (own && "customGrad");
    if (form === undefined) return;
    const known = runs.get(scope);
    if (known !== undefined) {
      known.recomputed++;
      known.state = "again";
      known.opsAgain.length = 0;
      active.push(known);
      return;
    }
    // A region nested in a recomputed one would run for the first time again.
    if (active.some(({ state }) => state === "again")) return;
    const run: Run = {
      scope,
      form,
      again: own?.again ?? new Set(),
      module: moduleOfRegion(trace, modules, event),
      begin: event,
      end: event,
      recomputed: own?.times ?? 0,
      madeBytes: 0,
      made: [],
      alive: new Map(),
      freedAt: new Map(),
      readAt: new Map(),
      ops: [],
      opsAgain: [],
      state: "first",
    };
    runs.set(scope, run);
    active.push(run);
  };
  const exit = (scope: number, event: number): void => {
    const run = runs.get(scope);
    if (run === undefined || run.state === "over") return;
    active.splice(active.lastIndexOf(run), 1);
    if (run.state === "first") {
      run.end = event;
      for (const storage of run.made)
        if (held.storages.isAlive(storage)) {
          holders.set(storage, [...(holders.get(storage) ?? []), run]);
          if (held.storages.bytes[storage] > 0) run.alive.set(storage, held.storages.bytes[storage]);
        }
    }
    run.state = "over";
  };
  /** Handles recomputation outside of regions and before the backward pass. It must be for an op outside. */
  const resize = (storage: StorageIndex): void => {
    const bytes = held.storages.bytes[storage];
    const op = readerAt(trace, held.nextOp);
    if (op === undefined || active.some(({ state }) => state === "again")) return;
    for (const run of holders.get(storage) ?? [])
      if (bytes === 0) {
        // A tensor that was only an intermediate result is freed at once.
        if (run.readAt.delete(storage)) run.alive.delete(storage);
      } else if (!run.alive.has(storage)) {
        run.alive.set(storage, bytes);
        run.readAt.set(storage, op);
      }
  };
  const { kind, subject, count } = trace.events;
  for (let event = 0; event < count; event++) {
    held.take(trace, event + 1);
    if (kind[event] === EventKind.resize) resize(subject[event]);
    if (kind[event] !== EventKind.allocate || !isOnDevice(subject[event])) continue;
    for (const run of active)
      if (run.state === "first") {
        run.made.push(subject[event]);
        run.madeBytes += held.storages.bytes[subject[event]];
      }
  }
  return [...runs.values()];
}

/**
 * Returns the forward op for which the ops from `op` on are replayed, or undefined if they are replayed for another
 * pass.
 */
function readerAt({ ops }: Trace, op: OpIndex): number | undefined {
  let reader = op;
  while (reader < ops.count && ops.phase[reader] === Phase.recompute) reader++;
  return reader < ops.count && ops.phase[reader] === Phase.forward ? reader : undefined;
}

/**
 * Returns the module whose call spans the whole region. If there is none, returns the module in which the region runs,
 * because the region may be the forward pass of that module.
 */
function moduleOfRegion(trace: Trace, modules: readonly number[], begin: number): string | undefined {
  const { moduleEvents } = trace;
  const { kind, subject, count } = trace.events;
  const nameOf = (call: number | undefined): string | undefined =>
    call === undefined ? undefined : trace.modules[trace.calls.module[call]].fqn;
  let whole: number | undefined;
  let isOver = false;
  for (let event = begin + 1; event < count; event++) {
    if (kind[event] === EventKind.exitScope && subject[event] === subject[begin])
      return nameOf(isOver ? whole : modules.at(-1));
    if (kind[event] === EventKind.exitModule && moduleEvents.call[subject[event]] === whole) isOver = true;
    const isMore = kind[event] === EventKind.enterModule || kind[event] === EventKind.op;
    if (isMore && (isOver || (whole === undefined && kind[event] === EventKind.op))) break;
    if (kind[event] === EventKind.enterModule) whole ??= moduleEvents.call[subject[event]];
  }
  return nameOf(modules.at(-1));
}

function describeRun(run: Run, reads: Reads): CheckpointedRegion {
  const { trace, savesOn } = reads;
  const { scope, form, module, recomputed, madeBytes } = run;
  const { given = [] } = trace.scopes[scope];
  const returned = trace.scopes[scope].returned ?? (form === "customGrad" ? trace.opOutputs(run.ops.at(-1)!) : []);
  const returnedBytes = bytesByStorage(trace, returned);
  const makers = makersOf(trace, run.ops);
  const kept: KeptByRegion[] = [];
  /**
   * Returns whether an op reads a tensor that was recomputed before the op ran. If not, the program has read the
   * values.
   */
  const readsAgain = (op: OpIndex): boolean =>
    Array.from(trace.opInputs(op)).some((tensor) =>
      trace.tensorStorages(tensor).some((storage) => run.readAt.get(storage) === op),
    );
  for (const [storage, bytes] of run.alive) {
    const saves = savesOn.get(storage) ?? [];
    const keep = (cause: KeptCause, size: number, saver?: Saver): void =>
      void kept.push({
        cause,
        storage,
        bytes: size,
        maker: makers.get(storage),
        saver,
        freedAt: run.freedAt.get(storage),
      });
    const reader = run.readAt.get(storage);
    if (reader !== undefined) {
      keep("readOutside", bytes, readsAgain(reader) ? { op: reader, scope: undefined } : undefined);
      continue;
    }
    const inside = saves.some(({ event }) => event > run.begin && event < run.end);
    const outside = saves.find(({ event }) => event > run.end);
    const part = returnedBytes.get(storage);
    const isWhole = part !== undefined && part >= trace.storages.bytes[storage];
    if (isWhole) keep("result", bytes);
    else if (part !== undefined) {
      keep("result", Math.min(bytes, part));
      keep(inside ? "policy" : "viewReturned", bytes - Math.min(bytes, part));
    } else if (form === "replayed") keep(isRepeatable(trace, makers.get(storage)) ? "policy" : "unrepeatable", bytes);
    else if (inside) keep(run.again.has(storage) ? "savedForNothing" : "policy", bytes);
    else if (outside !== undefined) keep("savedOutside", bytes, saverOf(trace, outside));
    else keep("program", bytes);
  }
  return {
    scope,
    form,
    module,
    recomputed,
    madeBytes,
    heldBytes: [...run.alive.values()].reduce((sum, bytes) => sum + bytes, 0),
    kept: kept.sort((a, b) => b.bytes - a.bytes || a.storage - b.storage),
    flaws: flawsOf(run, given, returned, reads),
  };
}

/** Returns whether an op can be repeated. Results of JavaScript or of a random kernel cannot be recomputed. */
function isRepeatable({ ops }: Trace, maker: number | undefined): boolean {
  return maker !== undefined && (ops.flags[maker] & OpFlag.random) === 0;
}

function flawsOf(
  run: Run,
  given: readonly number[],
  returned: ArrayLike<number>,
  { trace, savesOn, sizes }: Reads,
): CheckpointedRegion["flaws"] {
  const flaws: { flaw: RegionFlaw; bytes: number }[] = [];
  // Such a block does not keep its inputs alive.
  if (run.form === "replayed") return flaws;
  const isOwnSave = (save: TracedSave): boolean =>
    run.form === "customGrad"
      ? save.event > run.begin && save.event < run.end
      : saverOf(trace, save)?.scope === run.scope;
  const isWeight = (storage: StorageIndex): boolean => trace.storages.category[storage] === Category.parameter;
  const heldFor = [...bytesByStorage(trace, given)].filter(([storage]) => {
    const saves = savesOn.get(storage) ?? [];
    return !isWeight(storage) && saves.length > 0 && saves.every(isOwnSave);
  });
  if (run.recomputed === 0 && trace.hasPhase(Phase.backward)) {
    const bytes = heldFor.reduce((sum, [storage]) => sum + sizes[storage], 0);
    if (bytes > 0 || run.form !== "customGrad") flaws.push({ flaw: "neverRecomputed", bytes });
  } else {
    const beside = heldFor.reduce(
      (sum, [storage, bytes]) => sum + Math.max(0, trace.storages.bytes[storage] - bytes),
      0,
    );
    if (beside > 0) flaws.push({ flaw: "viewGiven", bytes: beside });
  }
  if (run.form === "reentrant" && run.recomputed > 0)
    flaws.push({ flaw: "reentrant", bytes: recomputedResultBytes(trace, run, returned, sizes) });
  return flaws;
}

/** Returns the bytes that the ops that created the results allocate when they run again. */
function recomputedResultBytes(trace: Trace, run: Run, returned: ArrayLike<number>, sizes: Float64Array): number {
  const made = new Set(run.made);
  const results = new Set(
    Array.from(returned)
      .flatMap((tensor) => trace.tensorStorages(tensor))
      .filter((s) => made.has(s)),
  );
  const again = new Set<number>();
  for (const [i, op] of run.ops.entries()) {
    const other = run.opsAgain[i];
    if (other === undefined || trace.opName(other) !== trace.opName(op)) break;
    const outputs = trace.opOutputs(op);
    for (let o = 0; o < outputs.length; o++)
      if (results.has(trace.tensors.storage[outputs[o]])) again.add(trace.tensors.storage[trace.opOutputs(other)[o]]);
  }
  return [...again].reduce((sum, storage) => sum + sizes[storage], 0);
}

/** Returns, for each storage, how many of its bytes `tensors` cover. Each view counts once, up to the whole storage. */
function bytesByStorage(trace: Trace, tensors: ArrayLike<number>): ReadonlyMap<number, number> {
  const bytes = new Map<number, number>();
  for (const tensor of new Set(Array.from(tensors))) {
    const storages = trace.tensorStorages(tensor);
    const elements = elementsOf(trace.tensorShape(tensor));
    const size = elements * (bytesPerElement(trace.tensorDtype(tensor)) ?? Number.POSITIVE_INFINITY);
    for (const storage of storages)
      bytes.set(
        storage,
        storages.length > 1
          ? trace.storages.bytes[storage]
          : Math.min(trace.storages.bytes[storage], (bytes.get(storage) ?? 0) + size),
      );
  }
  return bytes;
}

/** Returns for each storage the first op among `ops` that has it among its results. */
function makersOf(trace: Trace, ops: readonly OpIndex[]): ReadonlyMap<number, number> {
  const makers = new Map<number, number>();
  for (const op of ops)
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) if (!makers.has(storage)) makers.set(storage, op);
  return makers;
}
