import { DeviceRows } from "@remat/memory";
import { Category, FsdpHook, Phase, RematError, type Trace } from "@remat/trace";
import { fsdpTrackerLabels } from "../category-labels.js";
import { MemoryReducer } from "../memory-reducer.js";
import type { ModuleRecord } from "../module-record.js";
import type { TrackerOptions } from "../tracker-options.js";

/** When memory is looked at around FSDP's hooks of a module. `…Checkpointed`: its forward pass is recomputed for checkpointing. */
export type FsdpModuleState =
  | "beforePreForward"
  | "afterPreForward"
  | "beforePostForward"
  | "afterPostForward"
  | "beforePreBackward"
  | "afterPreBackward"
  | "beforePostBackward"
  | "afterPostBackward"
  | "preForwardCheckpointed"
  | "postForwardCheckpointed"
  | "peakForward"
  | "peakBackward";

const stateLabels: Readonly<Record<FsdpModuleState, string>> = {
  beforePreForward: "Before Pre-Forward",
  afterPreForward: "After Pre-Forward",
  beforePostForward: "Before Post-Forward",
  afterPostForward: "After Post-Forward",
  beforePreBackward: "Before Pre-Backward",
  afterPreBackward: "After Pre-Backward",
  beforePostBackward: "Before Post-Backward",
  afterPostBackward: "After Post-Backward",
  preForwardCheckpointed: "Pre-Forward AC",
  postForwardCheckpointed: "Post-Forward AC",
  peakForward: "Peak Forward",
  peakBackward: "Peak Backward",
};

/**
 * Memory of one rank of a model under FSDP: sharded and gathered parameters and gradients, buffers of collectives, and the rest, at present,
 * at the peak, and around the hooks of every sharded module. Reads traces with FSDP's hooks: recorded ones, and those of `simulateFsdp`.
 *
 * Source: `torch/distributed/_tools/fsdp2_mem_tracker.py`, PyTorch 2.13.
 *
 * @example
 * const tracker = new FSDPMemTracker().update(readPyTorchTrace(file));
 * console.log(tracker.displaySnapshot("peak", "MiB", true));
 */
export class FSDPMemTracker extends MemoryReducer<FsdpModuleState> {
  constructor(options: TrackerOptions = {}) {
    super(fsdpTrackerLabels, stateLabels, options);
  }

  /** Shows `storages` of the trace as inputs, whatever its events say. */
  trackInputs(storages: Iterable<number>): void {
    this.override(storages, Category.input);
  }

  /** Does nothing, as upstream: what FSDP holds is found by itself. */
  trackExternal(_storages?: Iterable<number>, _category?: number): void {}

  /** Only FSDP's hooks count, which stand at their own places. */
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

  private known(trace: Trace, module: number, hook: number): ModuleRecord<FsdpModuleState> {
    const record = this.records.get(module);
    if (record === undefined)
      throw new RematError(
        "TRACE_EVENT_ORDER",
        `hook ${hook} of module ${trace.modules[module].fqn} is out of order: its pre-forward hook has not begun; expected that first. Record the trace again from before the first call.`,
      );
    return record;
  }
}
