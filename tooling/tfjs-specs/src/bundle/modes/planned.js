import { withPlan } from "@remat/checkpoint";
import { withDispatchMode } from "@remat/dispatch-hook";
import { describePlanMismatch, gradientsEndMark, gradientsStartMark } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import { recomputeAll } from "./recompute-all.js";
import { RepeatingMode } from "./repeating-mode.js";

/**
 * The first forward and backward pass of each spec is recorded and planned, and the specs run again under these plans.
 * `own`: each under its own plan, which the first pass must follow to its end. Otherwise each spec runs under the plan
 * of the spec before, which is for another op or other shapes.
 */
export class Planned extends RepeatingMode {
  evictions = 0;
  /** For each spec, the trace of its first pass. */
  traces = new Map();
  /** For each spec, the plan that it gets. */
  plans;

  constructor(whose) {
    super();
    this.isOwn = whose === "own";
  }

  run(spec) {
    return this.plans === undefined ? this.record(spec) : this.follow(spec);
  }

  record(spec) {
    const { spec: id } = this;
    let recorder;
    const firstPass = {
      gradients: (_call, next) => {
        if (recorder !== undefined) return next();
        recorder = new TraceRecorder({ outside: false });
        return withDispatchMode(recorder, () => {
          recorder.mark(gradientsStartMark);
          const result = next();
          recorder.mark(gradientsEndMark);
          this.traces.set(id, recorder.trace());
          return result;
        });
      },
    };
    return withDispatchMode(firstPass, spec);
  }

  follow(spec) {
    let isFirst = true;
    const followed = (execution) => {
      const passes = {
        gradients: (_call, next) => {
          const mustFollow = isFirst && this.isOwn;
          isFirst = false;
          const result = next();
          const { mismatch, evictions = 0 } = execution.lastStep ?? {};
          this.evictions += evictions;
          if (mustFollow && mismatch !== undefined)
            throw new Error(`a pass has left its own plan: ${describePlanMismatch(mismatch)}`);
          return result;
        },
      };
      return withDispatchMode(passes, spec);
    };
    return withPlan(this.plans.get(this.spec), followed, { onMismatch: "store" });
  }

  async again(specs) {
    if (this.plans !== undefined) return [];
    this.plans = new Map();
    let before;
    for (const [id, trace] of this.traces) {
      const plan = specs.get(id).status === "passed" ? await recomputeAll(trace) : undefined;
      if (plan === undefined) continue;
      const given = this.isOwn ? plan : before;
      if (given !== undefined) this.plans.set(id, given);
      before = plan;
    }
    return [...this.plans.keys()];
  }

  work() {
    return this.evictions;
  }
}
