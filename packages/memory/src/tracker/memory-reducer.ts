import {
  type CallIndex,
  Category,
  EventKind,
  type MemorySnapshot,
  type ModuleIndex,
  type OpIndex,
  Phase,
  RematError,
  resetModStatsMark,
  type StorageIndex,
  type Trace,
  truncationCause,
} from "@remat/trace";
import { displaySafe, type MemoryUnit } from "@remat/trace/text";
import { type LiveStorages, rowWidth, totalColumn } from "../held/live-storages.js";
import { DeviceRows, HeldMemory, type MemoryMoment, type MomentOptions, momentOfPeak } from "../index.js";
import { type CategoryLabels, shownCategories } from "./category-labels.js";
import { displaySnapshot, displayStates } from "./display.js";
import { type ModuleMemory, ModuleRecord } from "./module-record.js";
import { naturalOrder } from "./natural-order.js";
import { parseMemoryUnit } from "./parse-memory-unit.js";
import type { TraceSource, TrackerOptions } from "./tracker-options.js";

/**
 * Computes memory by device and category, and its peak, from the events of a trace. Subclasses define the states of a
 * module. Processing a trace as it grows gives the same result as processing it at the end. @internal
 */
export abstract class MemoryReducer<State extends string> {
  protected readonly records: Map<number, ModuleRecord<State>> = new Map();
  /** For each module, the outermost module in which it was called last. */
  private readonly outermost = new Map<number, number>();
  protected trace: Trace | undefined;
  private readonly labels: CategoryLabels;
  private readonly stateLabels: Readonly<Record<State, string>>;
  /** Tracks the memory in use. All answers about memory come from it. */
  private readonly held: HeldMemory = new HeldMemory({
    turning: () => this.raiseWithin(),
    freeing: (storage) => this.uncountAddend(storage),
    categorized: (storage, was) => this.noteCategory(storage, was),
    op: (op) => this.raiseModulePeaks(op),
    other: (kind, item, value, event) => this.takeOther(kind, item, value, event),
  });
  /**
   * The highest memory in use since the last op, measured before each free. It includes the scratch memory of the
   * current op.
   */
  private readonly within = new DeviceRows();
  protected source: TraceSource | undefined;
  private readonly options: TrackerOptions;

  /** The live storages. */
  protected get storages(): LiveStorages {
    return this.held.storages;
  }

  protected constructor(labels: CategoryLabels, stateLabels: Readonly<Record<State, string>>, options: TrackerOptions) {
    this.labels = labels;
    this.stateLabels = stateLabels;
    this.options = options;
  }

  /**
   * Follows a recording. From now on, every query first processes the events that `source` has recorded since the last
   * query. The answer is thus for the current moment of the run. Peaks include all events between two queries.
   *
   * @example
   * const tracker = new MemTracker().follow(recorder);
   */
  follow(source: TraceSource): this {
    this.source = source;
    return this;
  }

  /**
   * Processes the events of `trace` that have not been processed yet, up to `endEvent`. Each trace must extend the
   * previous one.
   *
   * @throws RematError `TRACE_EVENT_ORDER` for a trace that contradicts itself, `MEMORY_SECOND_ITERATION`
   */
  update(trace: Trace, endEvent: number = trace.events.count): this {
    this.trace = trace;
    this.held.take(trace, Math.min(endEvent, trace.events.count));
    return this;
  }

  /** The number of events processed. */
  get eventCount(): number {
    this.catchUp();
    return this.held.position;
  }

  /** Returns the memory by device, now or at the peak. Sizes are rounded up to the allocation unit. */
  snapshot(which: "current" | "peak" = "current"): readonly MemorySnapshot[] {
    this.catchUp();
    return this.rowsOf(which).snapshot(this.storages.devices, this.shown);
  }

  /** Returns the peak memory of `device` in bytes, by default of the device that the trace is about. */
  peakBytes(device?: string): number {
    const snapshots = this.snapshot("peak");
    const name = device ?? this.trace?.header.device;
    return snapshots.find((snapshot) => snapshot.device === name)?.totalBytes ?? 0;
  }

  /** Returns statistics by module. Modules are in the order of their first calls. */
  modules(): readonly ModuleMemory<State>[] {
    this.catchUp();
    const { shown } = this;
    return [...this.records.values()].map((record) => record.memory(this.storages.devices, shown));
  }

  /** Resets the statistics by module. Call it between two iterations. */
  resetModStats(): void {
    this.catchUp();
    this.records.clear();
  }

  /**
   * Returns the moment of the peak: the op and module that runs, and the largest live storages with the op that made
   * each.
   *
   * @throws RematError `MEMORY_NO_EVENTS` if nothing was allocated on the device
   */
  peakMoment(options: MomentOptions = {}): MemoryMoment {
    this.catchUp();
    const { trace, held } = this;
    const device = options.device ?? trace?.header.device ?? "";
    if (trace === undefined || !this.storages.devices.includes(device))
      throw new RematError("MEMORY_NO_EVENTS", nothingOn(device, this.storages.devices, trace));
    return momentOfPeak(trace, held.peak(device), { ...options, categories: held.overridden });
  }

  /**
   * Formats the current or the peak snapshot as text, like PyTorch's tracker.
   *
   * @param which `current` or `peak`
   * @param units B, KiB, MiB or GiB
   * @throws RematError `UNKNOWN_UNIT`, `MEMORY_SNAPSHOT_KIND`
   */
  displaySnapshot(which: "current" | "peak" = "current", units: MemoryUnit = "B", tabulate = false): string {
    return displaySnapshot(this.snapshot(which), this.labels.labels, parseMemoryUnit(units), tabulate);
  }

  /**
   * Formats the snapshots of every module with at most `depth` names in its path, by state and call, in natural order,
   * like PyTorch's tracker.
   *
   * @throws RematError `UNKNOWN_UNIT`
   */
  displayModulewiseSnapshots(depth = 2, units: MemoryUnit = "B", tabulate = false): string {
    const unit = parseMemoryUnit(units);
    let text = "";
    for (const module of naturalOrder(this.modules(), (m) => m.fqn)) {
      if (module.fqn.split(".").length > depth) continue;
      text += `Module:  ${displaySafe(module.fqn)}\n`;
      text += displayStates(module.snapshots, this.stateLabels, this.labels.labels, unit, tabulate);
    }
    return text;
  }

  protected abstract enterModule(trace: Trace, row: number, event: number): void;
  protected abstract exitModule(trace: Trace, row: number, event: number): void;
  protected abstract fsdpHook(trace: Trace, row: number, hook: number): void;

  /** Assigns `storages` to `category` from now on, including storages that are allocated later. */
  protected override(storages: Iterable<StorageIndex>, category: number): void {
    this.catchUp();
    this.held.override(storages, category);
  }

  protected recordOf(trace: Trace, module: ModuleIndex): ModuleRecord<State> {
    const { fqn, kind } = trace.modules[module];
    const record = new ModuleRecord<State>(fqn, kind);
    this.records.set(module, record);
    return record;
  }

  /** Called when a known outermost module is called again in the forward pass. */
  protected startIteration(trace: Trace, call: CallIndex): void {
    const outermost = trace.calls.module[call];
    if (this.options.secondIteration === "reset") {
      // The statistics of other models in the same step, as in a GAN, are kept.
      for (const module of [...this.records.keys()])
        if (this.outermost.get(module) === outermost) this.records.delete(module);
      return;
    }
    throw new RematError(
      "MEMORY_SECOND_ITERATION",
      `${trace.modules[outermost].fqn} is called a second time, so a second iteration begins without resetModStats() or the mark "${resetModStatsMark}". Reset between iterations, or pass { secondIteration: "reset" } to keep the last.`,
    );
  }

  private noteOutermost(trace: Trace, call: CallIndex): void {
    const { parent, module } = trace.calls;
    const outermost = parent[call] < 0 ? module[call] : this.outermost.get(module[parent[call]]);
    this.outermost.set(module[call], outermost ?? module[call]);
  }

  private catchUp(): void {
    if (this.source !== undefined) this.update(this.source.trace());
  }

  private takeOther(kind: number, item: number, value: number, event: number): void {
    const trace = this.trace as Trace;
    switch (kind) {
      case EventKind.enterModule:
        this.within.clear();
        this.noteOutermost(trace, trace.moduleEvents.call[item]);
        this.enterModule(trace, item, event);
        break;
      case EventKind.exitModule:
        this.within.clear();
        this.exitModule(trace, item, event);
        break;
      case EventKind.fsdpHook:
        this.fsdpHook(trace, item, value);
        break;
      case EventKind.mark:
        if (trace.strings[item] === resetModStatsMark) this.records.clear();
        break;
    }
  }

  private noteCategory(storage: StorageIndex, was: number): void {
    if (this.storages.category[storage] === Category.gradient && was !== Category.gradient) this.countGradient(storage);
  }

  /** Handles a freed sum of gradients. If the previous op has added to it, the new sum is the gradient. */
  private uncountAddend(storage: StorageIndex): void {
    const { trace } = this;
    const { nextOp } = this.held;
    if (trace === undefined || nextOp === 0 || trace.ops.phase[nextOp - 1] !== Phase.backward) return;
    if (trace.header.framework !== "tfjs" || this.storages.category[storage] !== Category.gradient) return;
    if (trace.opName(nextOp - 1) !== "Add") return;
    const [sum] = trace.opInputs(nextOp - 1);
    if (trace.tensors.storage[sum] === storage) this.countGradient(storage, -1);
  }

  private countGradient(storage: StorageIndex, sign = 1): void {
    const { trace } = this;
    const op = this.storages.op[storage];
    if (trace === undefined || op >= this.held.nextOp) return;
    const { start, values } = trace.stacks;
    const stack = trace.ops.stack[op];
    for (let i = start[stack]; i < start[stack + 1]; i++) {
      const record = this.records.get(trace.calls.module[values[i]]);
      if (record !== undefined) record.gradientBytes += sign * this.storages.bytes[storage];
    }
  }

  /** Records memory that the current op allocates and frees itself. It counts toward the peaks of the op's modules. */
  private raiseWithin(): void {
    const { within, storages } = this;
    const { present, totals } = storages;
    for (let i = 0; i < present.length; i++)
      if (within.totalBytes(present[i]) < totals[present[i] * rowWidth + totalColumn])
        within.copy(storages, present[i]);
  }

  private raiseModulePeaks(op: OpIndex): void {
    const { within, storages, trace } = this;
    if (trace !== undefined && this.records.size > 0) {
      const { present, totals } = storages;
      const phase = trace.ops.phase[op];
      const backward = phase === Phase.backward || phase === Phase.recompute;
      const { start, values } = trace.stacks;
      const stack = trace.ops.stack[op];
      for (let i = start[stack]; i < start[stack + 1]; i++) {
        const record = this.records.get(trace.calls.module[values[i]]);
        if (record === undefined) continue;
        for (let j = 0; j < within.devices.length; j++)
          record.raisePeak(backward, within.devices[j], within.rows[j], 0);
        for (let j = 0; j < present.length; j++) record.raisePeak(backward, present[j], totals, present[j] * rowWidth);
      }
    }
    within.clear();
  }

  private rowsOf(which: string): DeviceRows {
    if (which === "current") return DeviceRows.of(this.storages);
    if (which !== "peak")
      throw new RematError("MEMORY_SNAPSHOT_KIND", `unknown snapshot ${JSON.stringify(which)}. Use current or peak.`);
    return this.held.peakRows();
  }

  private get shown(): ReturnType<typeof shownCategories> {
    return shownCategories(this.labels, this.storages.seen);
  }
}

function nothingOn(device: string, devices: readonly string[], trace: Trace | undefined): string {
  const cause = trace && truncationCause(trace);
  if (devices.length > 0)
    return `nothing was allocated on device ${JSON.stringify(device)}. Ask for one of ${devices.join(", ")}.`;
  if (cause !== undefined) return `${cause}, and nothing was allocated before that. Record it again.`;
  return trace === undefined
    ? "the tracker has no trace yet. Call update() with one first."
    : "the trace allocates nothing. Record a step that does.";
}
