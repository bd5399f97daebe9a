import { deviceKind } from "@remat/memory";
import { type CallIndex, EventKind, FsdpHook, OpFlag, type OpIndex, Phase, RematError, type Trace } from "@remat/trace";
import { InPlaceParents } from "./in-place-parents.js";
import { keptBytesOfOps, type OutputStorages, outputStorages } from "./output-storages.js";
import { OutsideTensors } from "./outside-tensors.js";

/**
 * Statistics of one module's forward pass for selective activation checkpointing: PyTorch's `SACStats`. `ops`,
 * `funcNames`, `runtimesMs` and `memoryBytes` are lists of the ops of the module and its submodules, without the ops
 * that checkpointing ignores. Other fields contain indices into those lists.
 */
export interface SACStats {
  /** Trace indices of the ops in the lists. */
  readonly ops: Int32Array;
  /**
   * Op names. Names of PyTorch ops have no namespace and overload (`addmm`). Names of TensorFlow.js kernels are
   * unchanged.
   */
  readonly funcNames: readonly string[];
  /** Time of each op in milliseconds. */
  readonly runtimesMs: Float64Array;
  /**
   * Bytes needed to keep the op's results. 0 for views, and for the op that creates the module's result, since that
   * result is kept anyway.
   */
  readonly memoryBytes: Float64Array;
  /** Ops whose results are views. */
  readonly viewLikeOps: Int32Array;
  /** Random ops. */
  readonly randOps: Int32Array;
  /** Ops whose results autograd had all saved when the module finished. */
  readonly savedAutogradOps: Int32Array;
  /** In-place ops. */
  readonly inplaceOps: Int32Array;
  /**
   * For each of `inplaceOps`, the op whose result it modifies. An op that writes to an argument of the module is its
   * own parent.
   */
  readonly inplaceParents: Int32Array;
  /**
   * True if no argument of the module was a tensor. Random ops are then stored, because a recomputation could not be
   * distinguished from a first run. In TensorFlow.js, a function has tensor arguments if it reads a tensor from outside
   * that is not a weight: an input of the step, or the result of an earlier op.
   */
  readonly forceStoreRandom: boolean;
}

/** Options of `sacStats`. */
export interface SACStatsOptions {
  /**
   * True to fail, as PyTorch does, if an in-place op modifies the result of an op that checkpointing ignores (`clone`,
   * `detach`). Default: false. The in-place op then counts as its own parent, so its result is always stored.
   */
  readonly asPytorch?: boolean;
}

/**
 * Returns statistics of every module with children, by fully qualified name, in the order in which the modules first
 * finish. If a module is called several times, the last call counts, as in PyTorch. Modules without children are left
 * out. A module in which no op ran has empty lists, whereas PyTorch raises an error.
 *
 * It makes one pass over the trace. Time and memory grow with the number of ops times the depth of their modules.
 *
 * Source: `torch/distributed/_tools/sac_estimator.py`.
 *
 * @throws RematError `SAC_SKIPPED_PARENT` only with `asPytorch` (see {@link SACStatsOptions}), `SAC_DEVICES` for an op
 * with results on several accelerators
 * @example
 * const stats = sacStats(priceTrace(trace, deviceSpec("a100")));
 * stats.get("Transformer.layers.0")?.memoryBytes;
 */
export function sacStats(trace: Trace, options: SACStatsOptions = {}): Map<string, SACStats> {
  const collector = new StatsCollector(trace, options.asPytorch === true);
  const { kind, subject, value, count } = trace.events;
  const { call, phase } = trace.moduleEvents;
  const stats = new Map<string, SACStats>();
  /** Number of ops before each call. */
  const firstOp = new Int32Array(trace.calls.count).fill(-1);
  let ops = 0;
  for (let event = 0; event < count; event++) {
    const at = subject[event];
    if (kind[event] === EventKind.op) ops = at + 1;
    else if (kind[event] === EventKind.save) collector.save(at);
    else if (kind[event] === EventKind.enterModule) {
      if (phase[at] === Phase.forward) firstOp[call[at]] = ops;
    } else if (kind[event] === EventKind.exitModule && phase[at] === Phase.forward && firstOp[call[at]] >= 0) {
      const module = trace.modules[trace.calls.module[call[at]]];
      if (!module.leaf) stats.set(module.fqn, collector.collect(call[at], firstOp[call[at]], ops));
    } else if (kind[event] === EventKind.fsdpHook && value[event] === FsdpHook.preForwardEnd) {
      // FSDP has all-gathered the weights, which recomputing `forward` does not repeat.
      if (phase[at] === Phase.forward) firstOp[call[at]] = ops;
    }
  }
  return stats;
}

class StatsCollector {
  /** For each storage, whether autograd has saved it so far. */
  readonly saved: Uint8Array;
  private readonly trace: Trace;
  private readonly asPytorch: boolean;
  private readonly outputs: OutputStorages;
  private readonly bytes: Float64Array;
  private readonly parents: InPlaceParents;
  private outside: OutsideTensors | undefined;
  /** Printed name of each string in the trace. */
  private readonly names: (string | undefined)[] = [];
  /** Index of each op in the lists of the current module, or -1. */
  private readonly position: Int32Array;

  constructor(trace: Trace, asPytorch: boolean) {
    this.trace = trace;
    this.asPytorch = asPytorch;
    this.outputs = outputStorages(trace);
    this.bytes = keptBytesOfOps(trace, this.outputs);
    this.parents = new InPlaceParents(this.outputs);
    this.saved = new Uint8Array(trace.storages.count);
    this.position = new Int32Array(trace.ops.count);
    checkDevices(trace, this.outputs);
  }

  /** Marks the storage in row `at` of the saves as saved, and the original storage if saving makes a copy. */
  save(at: number): void {
    const { storage, tensor } = this.trace.saves;
    this.saved[storage[at]] = 1;
    if (tensor[at] >= 0) for (const original of this.trace.tensorStorages(tensor[at])) this.saved[original] = 1;
  }

  /** Returns statistics of the ops from `first` up to, but not including, `end`, all of which ran in `call`. */
  collect(call: CallIndex, first: number, end: number): SACStats {
    const { trace, position, outputs, saved } = this;
    const { phase, flags, name, runtimeMs } = trace.ops;
    let count = 0;
    for (let op = first; op < end; op++)
      position[op] = phase[op] === Phase.forward && !(flags[op] & OpFlag.sacSkip) ? count++ : -1;
    const ops = new Int32Array(count);
    const funcNames = new Array<string>(count);
    const runtimesMs = new Float64Array(count);
    const memoryBytes = new Float64Array(count);
    const inPlace = new Int32Array(count);
    const parents = new Int32Array(count);
    const views = new Int32Array(count);
    const random = new Int32Array(count);
    const held = new Int32Array(count);
    let viewCount = 0;
    let randomCount = 0;
    let heldCount = 0;
    let inPlaceCount = 0;
    /** The op that makes the module's result: the last one that is neither a view nor in-place. */
    let last = -1;
    for (let op = first; op < end; op++) {
      const i = position[op];
      if (i < 0) continue;
      ops[i] = op;
      funcNames[i] = this.names[name[op]] ??= this.printedName(name[op]);
      runtimesMs[i] = runtimeMs[op];
      memoryBytes[i] = this.bytes[op];
      if (flags[op] & OpFlag.view) views[viewCount++] = i;
      if (flags[op] & OpFlag.random) random[randomCount++] = i;
      if (flags[op] & OpFlag.inPlace) {
        inPlace[inPlaceCount] = i;
        parents[inPlaceCount++] = this.parentPosition(call, op, first);
      }
      if (!(flags[op] & (OpFlag.view | OpFlag.inPlace))) last = i;
      let at = outputs.opStart[op];
      while (at < outputs.opStart[op + 1] && saved[outputs.storages[at]] === 1) at++;
      if (at === outputs.opStart[op + 1]) held[heldCount++] = i;
    }
    // If all ops are views or in-place, upstream's index becomes -1, which in Python is the last op.
    if (count > 0) memoryBytes[last < 0 ? count - 1 : last] = 0;
    return {
      ops,
      funcNames,
      runtimesMs,
      memoryBytes,
      viewLikeOps: views.slice(0, viewCount),
      randOps: random.slice(0, randomCount),
      savedAutogradOps: held.slice(0, heldCount),
      inplaceOps: inPlace.slice(0, inPlaceCount),
      inplaceParents: parents.slice(0, inPlaceCount),
      forceStoreRandom: !this.takesTensor(call, first, end),
    };
  }

  /**
   * Returns whether the module gets a tensor. PyTorch records a module's arguments. TensorFlow.js does not, so this
   * looks at the tensors that the module's ops read.
   */
  private takesTensor(call: CallIndex, first: number, end: number): boolean {
    const { trace } = this;
    if (trace.calls.tensorInput[call] === 1) return true;
    if (trace.header.framework !== "tfjs") return false;
    this.outside ??= new OutsideTensors(trace);
    return this.outside.areReadBy(first, end);
  }

  private parentPosition(call: CallIndex, op: OpIndex, first: number): number {
    const parent = this.parents.find(op, first);
    if (this.position[parent] >= 0) return this.position[parent];
    if (!this.asPytorch) return this.position[op];
    const { trace } = this;
    throw new RematError(
      "SAC_SKIPPED_PARENT",
      `module ${trace.modules[trace.calls.module[call]].fqn}: in-place op ${op} (${trace.opName(op)}) writes into the result of op ${parent} ` +
        `(${trace.opName(parent)}), which selective activation checkpointing skips. ` +
        `Write into another tensor, or remove asPytorch (--as-pytorch).`,
    );
  }

  private printedName(string: number): string {
    const name = this.trace.strings[string];
    return this.trace.header.framework === "pytorch" ? (name.split(".")[1] ?? name) : name;
  }
}

function checkDevices(trace: Trace, { opStart, storages }: OutputStorages): void {
  const { device } = trace.storages;
  const accelerators = trace.strings.map((name) => deviceKind(name) !== "cpu");
  for (let op = 0; op < trace.ops.count; op++) {
    let found = -1;
    for (let i = opStart[op]; i < opStart[op + 1]; i++) {
      const id = device[storages[i]];
      if (!accelerators[id]) continue;
      if (found >= 0 && found !== id)
        throw new RematError(
          "SAC_DEVICES",
          `op ${op} (${trace.opName(op)}) has results on ${trace.strings[found]} and ${trace.strings[id]}, and only one accelerator is supported. Trace the part of the model on one device.`,
        );
      found = id;
    }
  }
}
