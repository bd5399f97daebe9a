import { DeviceRows } from "@remat/memory";
import {
  fsdpTrackerLabels,
  MemoryReducer,
  type ModuleMemory,
  type ModuleRecord,
  type TrackerOptions,
} from "@remat/memory/tracker";
import {
  Category,
  EventKind,
  FsdpHook,
  type ModuleIndex,
  Phase,
  RematError,
  type StorageIndex,
  type Trace,
} from "@remat/trace";
import { type FsdpModuleState, fsdpStateLabels } from "./state-labels.js";

/**
 * Returns whether a run was under PyTorch's FSDP, that is, whether its trace has the hooks of a sharded module.
 *
 * @example
 * const tracker = hasFsdpHooks(trace) ? new FSDPMemTracker().update(trace) : trackMemory(trace);
 */
export function hasFsdpHooks(trace: Trace): boolean {
  return trace.events.kind.includes(EventKind.fsdpHook);
}

/**
 * Tracks the memory of one rank of a model under FSDP.
 *
 * It counts sharded and unsharded parameters and gradients, buffers of collectives, and other memory. It reports each
 * of these for the current moment, for the peak, and for the hooks of every sharded module. It reads traces with FSDP's
 * hooks, which are either recorded or come from `simulateFsdp`.
 *
 * Source: `torch/distributed/_tools/fsdp2_mem_tracker.py`, PyTorch 2.13.
 *
 * @example
 * const tracker = new FSDPMemTracker().update(readPyTorchTrace(file));
 * console.log(tracker.displaySnapshot("peak", "MiB", true));
 */
export class FSDPMemTracker extends MemoryReducer<FsdpModuleState> {
  private isSharded = false;

  constructor(options: TrackerOptions = {}) {
    super(fsdpTrackerLabels, fsdpStateLabels, options);
  }

  /**
   * Processes the events of `trace` up to `endEvent` that were not processed before. Each trace must extend the one
   * before.
   *
   * @throws RematError `TRACE_NOT_SHARDED` for a run with a backward pass and without FSDP's hooks, and the errors of
   * `MemTracker.update`
   */
  override update(trace: Trace, endEvent: number = trace.events.count): this {
    super.update(trace, endEvent);
    if (endEvent >= trace.events.count && trace.hasPhase(Phase.backward)) this.requireHooks(trace);
    return this;
  }

  /**
   * Returns the memory of each sharded module, in the order of their first calls.
   *
   * @throws RematError `TRACE_NOT_SHARDED` for a run of modules without FSDP's hooks
   */
  override modules(): readonly ModuleMemory<FsdpModuleState>[] {
    const modules = super.modules();
    if (modules.length === 0 && this.trace !== undefined && this.trace.moduleEvents.count > 0)
      this.requireHooks(this.trace);
    return modules;
  }

  /**
   * Rejects a trace without FSDP's hooks. A subclass overrides this for a simulated rank with unsharded weights, as
   * under DDP.
   *
   * @internal
   */
  protected requireHooks(trace: Trace): void {
    this.isSharded ||= hasFsdpHooks(trace);
    if (this.isSharded) return;
    throw new RematError(
      "TRACE_NOT_SHARDED",
      `the trace was not recorded under FSDP: its ${trace.events.count} events contain no FSDP hooks. Use MemTracker, or simulateFsdp to predict one rank.`,
    );
  }

  /** Counts `storages` of the trace as inputs, even if its events give them other categories. */
  trackInputs(storages: Iterable<StorageIndex>): void {
    this.override(storages, Category.input);
  }

  /** Does nothing, as in PyTorch's tracker, because the tracker finds FSDP's memory without this method. */
  trackExternal(_storages?: Iterable<number>, _category?: number): void {}

  /** Does nothing, because only FSDP's hooks count, and they have events of their own. */
  protected enterModule(): void {}
  protected exitModule(): void {}

  protected fsdpHook(trace: Trace, eventRow: number, hook: number): void {
    const call = trace.moduleEvents.call[eventRow];
    const module = trace.calls.module[call];
    const recomputes = trace.moduleEvents.phase[eventRow] === Phase.recompute;
    const now = DeviceRows.of(this.storages);
    if (hook === FsdpHook.preForwardBegin) {
      if (!recomputes && this.records.has(module) && trace.calls.parent[call] < 0) this.startIteration(trace, call);
      if (this.records.has(module)) return;
      const record = this.recordOf(trace, module);
      record.startPass("peakForward", false, now);
      record.add("beforePreForward", now.clone());
      return;
    }
    const record = this.known(trace, module, hook);
    switch (hook) {
      case FsdpHook.preForwardEnd:
        return record.add(recomputes ? "preForwardCheckpointed" : "afterPreForward", now);
      case FsdpHook.postForwardBegin:
        return record.add(recomputes ? "postForwardCheckpointed" : "beforePostForward", now);
      case FsdpHook.postForwardEnd:
        return recomputes ? undefined : record.add("afterPostForward", now);
      case FsdpHook.preBackwardBegin:
        record.startPass("peakBackward", true, now);
        return record.add("beforePreBackward", now.clone());
      case FsdpHook.preBackwardEnd:
        return record.add("afterPreBackward", now);
      case FsdpHook.postBackwardBegin:
        return record.add("beforePostBackward", now);
      default:
        return record.add("afterPostBackward", now);
    }
  }

  private known(trace: Trace, module: ModuleIndex, hook: number): ModuleRecord<FsdpModuleState> {
    const record = this.records.get(module);
    if (record === undefined)
      throw new RematError(
        "TRACE_EVENT_ORDER",
        `hook ${hook} of module ${trace.modules[module].fqn} is out of order: its pre-forward hook did not run. Record the trace again from before the first call.`,
      );
    return record;
  }
}

/**
 * Tracks the simulated run of a rank. A rank with unsharded weights (DDP, ZeRO) has none of FSDP's hooks.
 *
 * @internal
 */
export class RankMemTracker extends FSDPMemTracker {
  protected override requireHooks(): void {}
}
