import { MemoryMeter, withMemoryBudget } from "@remat/checkpoint";
import { registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { leftWork } from "../../rejections.js";
import { restoringIfBrokenOff, whenOver } from "./broken-off.js";
import { RepeatingMode } from "./repeating-mode.js";

/** More than any spec needs. */
const ampleBytes = 1e12;
/** Matches errors of work that a spec left behind, whose memory is not in the first measurement. */
const isOfLeftWork = (message) => message.startsWith(leftWork);
const asksFor = /(?:Raise the budget to|memory reached) (\d+)B/;

/**
 * Runs each spec with a backward pass in the smallest budget that the errors lead to. The first time the budget is
 * ample, then zero, and from then on the amount in the last error, until the spec passes. It must pass with its first
 * peak, since nothing then has to be evicted.
 */
export class TightBudget extends RepeatingMode {
  evictions = 0;
  /** For each spec, with an ample budget. */
  peakBytes = new Map();
  /** For each spec, for the next time. */
  budgetBytes = new Map();

  run(spec) {
    const { peakBytes, spec: id } = this;
    const budget = this.budgetBytes.get(id);
    const meter = new MemoryMeter();
    /** The most bytes held in steps that succeeded, and outside of steps. One that fails may exceed its budget. */
    let most = 0;
    let mostOfStep = 0;
    let depth = 0;
    let isBeforeUpdate = false;
    const succeed = () => {
      most = Math.max(most, mostOfStep);
      isBeforeUpdate = false;
    };
    const watch = {
      opDone: () => {
        if (depth > 0 || isBeforeUpdate) mostOfStep = Math.max(mostOfStep, meter.liveBytes);
        else most = Math.max(most, meter.liveBytes);
      },
      gradients: (call, next) => {
        if (depth++ === 0) mostOfStep = 0;
        try {
          const result = next(call);
          if (depth === 1 && call.minimization === undefined) succeed();
          else if (depth === 1) isBeforeUpdate = true;
          return result;
        } finally {
          depth--;
        }
      },
      optimizerUpdateComing: succeed,
      storageResized: (_storage, bytes) => {
        if (bytes === 0) this.evictions++;
      },
    };
    return restoringIfBrokenOff(() =>
      withDispatchMode(meter, () => {
        meter.count(registeredVariables());
        const budgeted = (execution) =>
          whenOver(spec, () => {
            if (budget === undefined && execution.lastStep !== undefined) peakBytes.set(id, meter.peakBytes);
            if (most > budget) throw new Error(`${most} bytes were held within a budget of ${budget}`);
          });
        // Opened last, it also sees what the budget does before and after a pass.
        const watched = (execution) => withDispatchMode(watch, () => budgeted(execution));
        return withMemoryBudget(`${budget ?? ampleBytes}B`, watched, { online: true });
      }),
    );
  }

  again(specs) {
    const { budgetBytes } = this;
    const ids = [];
    for (const [id, peakBytes] of this.peakBytes) {
      const { status, messages } = specs.get(id);
      if (budgetBytes.has(id) ? status === "passed" : status !== "passed") continue;
      const [, asked = "1"] = messages.map((message) => asksFor.exec(message)).find((found) => found !== null) ?? [];
      // Tensors kept for recomputation may make it ask for more than the total.
      const next = messages.some(isOfLeftWork) ? Number(asked) : Math.min(Number(asked), peakBytes);
      // A spec that asks for no more than it had failed for another reason.
      if (next <= (budgetBytes.get(id) ?? 0)) continue;
      budgetBytes.set(id, next);
      ids.push(id);
    }
    return ids;
  }

  work() {
    return this.evictions;
  }
}
