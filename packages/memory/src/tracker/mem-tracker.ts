import {
  type CallIndex,
  Category,
  checkArgument,
  type ModuleIndex,
  Phase,
  RematError,
  row,
  type StorageIndex,
  type Trace,
} from "@remat/trace";
import { DeviceRows } from "../index.js";
import { memTrackerLabels } from "./category-labels.js";
import { MemoryReducer } from "./memory-reducer.js";
import type { ModuleRecord } from "./module-record.js";
import { type ModuleState, moduleStateLabels } from "./state-labels.js";
import type { TrackerOptions } from "./tracker-options.js";

/**
 * Tracks memory by device and category: now, at the peak, and around every module call. It is like PyTorch's
 * `MemTracker`, but for a trace of any origin. The categories are parameter, buffer, gradient, activation, temporary,
 * optimizer state and other. If a trace distinguishes inputs, there is also input. A category that PyTorch does not
 * have is shown only if it occurs.
 *
 * Source: `torch/distributed/_tools/mem_tracker.py`, PyTorch 2.13.
 *
 * @example
 * const tracker = new MemTracker().update(trace);
 * console.log(tracker.displaySnapshot("peak", "MiB", true));
 * console.log(tracker.peakMoment().largest[0]);
 */
export class MemTracker extends MemoryReducer<ModuleState> {
  /** For each forward call, how many times it has been entered and not left yet. */
  private readonly open = new Map<number, number>();

  constructor(options: TrackerOptions = {}) {
    super(memTrackerLabels, moduleStateLabels, options);
  }

  /**
   * Counts memory that was allocated outside of the run. While a run is recorded ({@link trackLive}), pass layers,
   * models, optimizers, tensors and lists of these: each counts under its category, and a plain tensor counts as other.
   * For a finished trace, pass storages by number. They are shown in `category` (other by default), even if the trace
   * gives them another one. Null is ignored.
   *
   * @throws RematError `ARGUMENT` for any other value, or for an object if no recorder is followed
   * @example
   * const memory = trackLive(recorder);
   * memory.trackExternal(model, optimizer, x);
   */
  trackExternal(storages: Iterable<StorageIndex>, category?: number): void;
  trackExternal(...external: readonly (object | null | undefined)[]): void;
  trackExternal(...external: readonly unknown[]): void {
    const [storages, category] = external;
    if (isStorages(storages) && (category === undefined || typeof category === "number")) {
      this.override(storages, category ?? Category.other);
      return;
    }
    const { source } = this;
    for (const object of external.flat(Number.POSITIVE_INFINITY)) {
      if (object === null || object === undefined) continue;
      checkArgument(
        typeof object === "object",
        "trackExternal's argument",
        object,
        "a layer, an optimizer or a tensor",
      );
      checkArgument(
        source?.trackExternal !== undefined,
        "trackExternal's argument",
        object,
        "storages by number, as this tracker reads a trace; use trackLive(recorder) to track objects",
      );
      source.trackExternal(object);
    }
  }

  protected enterModule(trace: Trace, eventRow: number, event: number): void {
    const call = trace.moduleEvents.call[eventRow];
    const module = trace.calls.module[call];
    const phase = trace.moduleEvents.phase[eventRow];
    if (phase === Phase.backward) {
      const record = this.known(trace, call, "its backward pass begins", event);
      record.startPass("peakBackward", true, DeviceRows.of(this.storages));
      record.add("preBackward", DeviceRows.of(this.storages));
      return;
    }
    this.open.set(call, (this.open.get(call) ?? 0) + 1);
    let record = this.records.get(module);
    if (record !== undefined && phase === Phase.recompute) {
      record.add("preForwardCheckpointed", DeviceRows.of(this.storages));
      return;
    }
    if (record !== undefined && trace.calls.parent[call] < 0) {
      this.startIteration(trace, call);
      record = undefined;
    }
    if (record === undefined) {
      record = this.recordOf(trace, module);
      this.countWeights(trace, module, record);
    }
    record.inputBytes = this.storages.bytesOf(trace, row(trace.moduleEvents.tensors, eventRow));
    record.startPass("peakForward", false, DeviceRows.of(this.storages));
    record.add("preForward", DeviceRows.of(this.storages));
  }

  protected exitModule(trace: Trace, eventRow: number, event: number): void {
    const call = trace.moduleEvents.call[eventRow];
    const module = trace.calls.module[call];
    const phase = trace.moduleEvents.phase[eventRow];
    if (phase === Phase.backward) {
      const record = this.known(trace, call, "its backward pass ends", event);
      record.add("postBackward", DeviceRows.of(this.storages));
      return;
    }
    const record = this.known(trace, call, "its forward pass ends", event);
    const entered = this.open.get(call) ?? 0;
    if (entered === 0) throw outOfOrder(trace, module, "its forward pass ends", event);
    this.open.set(call, entered - 1);
    if (phase === Phase.recompute) {
      record.add("postForwardCheckpointed", DeviceRows.of(this.storages));
      return;
    }
    // A layer may create its weights at its first call.
    if (record.parameterBytes + record.bufferBytes === 0) this.countWeights(trace, module, record);
    record.outputBytes = this.storages.bytesOf(trace, row(trace.moduleEvents.tensors, eventRow));
    record.add("postForward", DeviceRows.of(this.storages));
  }

  /** Does nothing, because in a plain tracker the hooks of an FSDP trace add no information. */
  protected fsdpHook(): void {}

  private known(trace: Trace, call: CallIndex, what: string, event: number): ModuleRecord<ModuleState> {
    const module = trace.calls.module[call];
    const record = this.records.get(module);
    if (record !== undefined) return record;
    if (!this.open.has(call)) throw outOfOrder(trace, module, what, event);
    // It was entered before an iteration that has begun since.
    const anew = this.recordOf(trace, module);
    this.countWeights(trace, module, anew);
    return anew;
  }

  private countWeights(trace: Trace, module: ModuleIndex, record: ModuleRecord<ModuleState>): void {
    const { weights } = trace;
    const declared = weights.module.lastIndexOf(module);
    if (declared < 0) return;
    // An update may have replaced them with new storages of the same size.
    record.parameterBytes = this.storages.bytesOf(trace, row(weights.parameters, declared), true);
    record.bufferBytes = this.storages.bytesOf(trace, row(weights.buffers, declared), true);
  }
}

/** Returns whether a value is an iterable of storage numbers, possibly empty. */
function isStorages(value: unknown): value is Iterable<number> {
  if (typeof value !== "object" || value === null || !(Symbol.iterator in value)) return false;
  const isList = Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof Set;
  return !isList || Array.from(value as Iterable<unknown>).every((storage) => typeof storage === "number");
}

function outOfOrder(trace: Trace, module: ModuleIndex, what: string, event: number): RematError {
  return new RematError(
    "TRACE_EVENT_ORDER",
    `event ${event} is out of order: for module ${trace.modules[module].fqn} ${what}, but its forward pass did not begin. Record the trace again from before the first call.`,
  );
}
