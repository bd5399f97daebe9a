import { bytesPerElement, EventKind, elementsOf, Phase, type Scope, type Trace } from "@remat/trace";
import { allocatedSizes } from "../allocators/device-units.js";
import { HeldMemory } from "../held/held-memory.js";
import { readSaves, type Saver, saverOf, type TracedSave } from "./savers.js";

/**
 * Why memory that a checkpointed region made is held when the region is over. `result`: it returned it. `policy`: its policy of selective checkpointing saves it.
 * `viewReturned`: it returned a view of a part, and the rest is held with that. `savedOutside`: an op, or a region, outside saved it for its own backward pass.
 * `program`: nobody saved it, and yet it lives: the program holds it, in a list, an attribute, a closure, a cache.
 */
export type KeptCause = "result" | "policy" | "viewReturned" | "savedOutside" | "program";

/** Memory that a region made and that is held when it is over. */
export interface KeptByRegion {
  readonly cause: KeptCause;
  readonly storage: number;
  /** As allocated; of a storage of which a part is returned, that part, or the rest. */
  readonly bytes: number;
  /** The op in the region that made it; undefined where no op's result is on it. */
  readonly maker: number | undefined;
  /** Of `savedOutside`: who saved it first; undefined where that cannot be told. */
  readonly saver: Saver | undefined;
  /** The op at which it was freed; undefined where it is held to the end. */
  readonly freedAt: number | undefined;
}

/**
 * What else keeps a region from paying. `neverRecomputed`: no backward pass asked for anything inside, so that what it was given is held for nothing. `viewGiven`: it was given a view,
 * and holds all of the storage that this is on. `reentrant`: that form recomputes its results, too, which nobody reads; the other stops before.
 */
export type RegionFlaw = "neverRecomputed" | "viewGiven" | "reentrant";

/** One run of a checkpointed region. */
export interface CheckpointedRegion {
  /** Index into `trace.scopes`. */
  readonly scope: number;
  readonly form: NonNullable<Scope["checkpoint"]>;
  /** The module call that it is, or runs in; undefined outside every module. */
  readonly module: string | undefined;
  /** How often it was recomputed. */
  readonly recomputed: number;
  /** All that ops in it allocated on the device. */
  readonly madeBytes: number;
  /** What of that is alive when it is over: the sum of `kept`. */
  readonly heldBytes: number;
  readonly kept: readonly KeptByRegion[];
  readonly flaws: readonly { readonly flaw: RegionFlaw; readonly bytes: number }[];
}

/**
 * Returns, for each region that ran under `torch.utils.checkpoint`, in order, what it made that is held when it is over, and why. Regions inside recomputed ones are
 * told of their first run. Empty for a trace that tells of no regions.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * for (const { module, kept } of checkpointedRegions(trace)) console.log(module, kept.filter(({ cause }) => cause === "program"));
 */
export function checkpointedRegions(trace: Trace): readonly CheckpointedRegion[] {
  const runs = readRuns(trace);
  if (runs.length === 0) return [];
  const saves = readSaves(trace);
  const savesOn = new Map<number, TracedSave[]>();
  for (const save of saves) savesOn.set(save.storage, [...(savesOn.get(save.storage) ?? []), save]);
  const reads = { trace, savesOn, sizes: allocatedSizes(trace) };
  return runs.map((run) => describeRun(run, reads));
}

interface Reads {
  readonly trace: Trace;
  /** By storage, as allocated. */
  readonly sizes: Float64Array;
  readonly savesOn: ReadonlyMap<number, readonly TracedSave[]>;
}

/** What was seen of a region. */
interface Run {
  readonly scope: number;
  readonly module: string | undefined;
  /** Positions of events. */
  readonly begin: number;
  end: number;
  recomputed: number;
  madeBytes: number;
  /** Storages made in it, of its first run; with their bytes those that are alive when it is over. */
  readonly made: number[];
  readonly alive: Map<number, number>;
  /** The op at which each of these was freed. */
  readonly freedAt: Map<number, number>;
  /** Ops of the first run, and of the one that is being recomputed. */
  readonly ops: number[];
  readonly opsAgain: number[];
  /** In the midst of which run it is. */
  state: "first" | "again" | "over";
}

function readRuns(trace: Trace): Run[] {
  const runs = new Map<number, Run>();
  const active: Run[] = [];
  const modules: number[] = [];
  const holders = new Map<number, Run[]>();
  const isOnDevice = (storage: number): boolean =>
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
    if (trace.scopes[scope].checkpoint === undefined) return;
    const known = runs.get(scope);
    if (known !== undefined) {
      known.recomputed++;
      known.state = "again";
      known.opsAgain.length = 0;
      active.push(known);
      return;
    }
    // A region inside one that is recomputed runs for the first time then, once more.
    if (active.some(({ state }) => state === "again")) return;
    const run: Run = {
      scope,
      module: moduleOfRegion(trace, modules, event),
      begin: event,
      end: event,
      recomputed: 0,
      madeBytes: 0,
      made: [],
      alive: new Map(),
      freedAt: new Map(),
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
          run.alive.set(storage, held.storages.bytes[storage]);
          holders.set(storage, [...(holders.get(storage) ?? []), run]);
        }
    }
    run.state = "over";
  };
  const { kind, subject, count } = trace.events;
  for (let event = 0; event < count; event++) {
    held.take(trace, event + 1);
    if (kind[event] !== EventKind.allocate || !isOnDevice(subject[event])) continue;
    for (const run of active)
      if (run.state === "first") {
        run.made.push(subject[event]);
        run.madeBytes += held.storages.bytes[subject[event]];
      }
  }
  return [...runs.values()];
}

/** The module whose call is all of the region; else the one in which it runs, whose forward pass it may be. */
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
  const { scope, module, recomputed, madeBytes } = run;
  const { checkpoint: form = "nonReentrant", returned = [], given = [] } = trace.scopes[scope];
  const returnedBytes = bytesByStorage(trace, returned);
  const makers = makersOf(trace, run.ops);
  const kept: KeptByRegion[] = [];
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
    const inside = saves.some(({ event }) => event > run.begin && event < run.end);
    const outside = saves.find(({ event }) => event > run.end);
    const part = returnedBytes.get(storage);
    const isWhole = part !== undefined && part >= trace.storages.bytes[storage];
    if (isWhole) keep("result", bytes);
    else if (part !== undefined) {
      keep("result", Math.min(bytes, part));
      keep(inside ? "policy" : "viewReturned", bytes - Math.min(bytes, part));
    } else if (inside) keep("policy", bytes);
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

function flawsOf(
  run: Run,
  given: readonly number[],
  returned: readonly number[],
  { trace, savesOn, sizes }: Reads,
): CheckpointedRegion["flaws"] {
  const flaws: { flaw: RegionFlaw; bytes: number }[] = [];
  const heldFor = [...bytesByStorage(trace, given)].filter(([storage]) => {
    const saves = savesOn.get(storage) ?? [];
    return saves.length > 0 && saves.every((save) => saverOf(trace, save)?.scope === run.scope);
  });
  if (run.recomputed === 0 && trace.hasPhase(Phase.backward))
    flaws.push({ flaw: "neverRecomputed", bytes: heldFor.reduce((sum, [storage]) => sum + sizes[storage], 0) });
  else {
    const beside = heldFor.reduce(
      (sum, [storage, bytes]) => sum + Math.max(0, trace.storages.bytes[storage] - bytes),
      0,
    );
    if (beside > 0) flaws.push({ flaw: "viewGiven", bytes: beside });
  }
  if (trace.scopes[run.scope].checkpoint === "reentrant" && run.recomputed > 0)
    flaws.push({ flaw: "reentrant", bytes: recomputedResultBytes(trace, run, returned, sizes) });
  return flaws;
}

/** What the ops that made the results allocate when they run again. */
function recomputedResultBytes(trace: Trace, run: Run, returned: readonly number[], sizes: Float64Array): number {
  const made = new Set(run.made);
  const results = new Set(returned.flatMap((tensor) => trace.tensorStorages(tensor)).filter((s) => made.has(s)));
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

/** By storage: how many bytes of it tensors see, each view counted once, at most all. */
function bytesByStorage(trace: Trace, tensors: readonly number[]): ReadonlyMap<number, number> {
  const bytes = new Map<number, number>();
  for (const tensor of new Set(tensors)) {
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

/** By storage, the op among `ops` that has it among its results first. */
function makersOf(trace: Trace, ops: readonly number[]): ReadonlyMap<number, number> {
  const makers = new Map<number, number>();
  for (const op of ops)
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) if (!makers.has(storage)) makers.set(storage, op);
  return makers;
}
