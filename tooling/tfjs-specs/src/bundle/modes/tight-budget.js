import { MemoryMeter, withMemoryBudget } from "@remat/checkpoint";
import { registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { leftWork } from "../../rejections.js";
import { restoringIfBrokenOff, whenOver } from "./broken-off.js";
import { RepeatingMode } from "./repeating-mode.js";

/** More than any spec needs. */
const ampleBytes = 1e12;
/** Of what a spec has begun and not waited for, which is not in what it took the first time. */
const isOfLeftWork = (message) => message.startsWith(leftWork);
const asksFor = /(?:Raise the budget to|memory reached) (\d+)B/;

/**
 * Each spec with a backward pass in the smallest budget to which the errors lead: the first time it has room for everything, then none, and from then
 * on what the error before has asked for, until it passes. It must when it has what it took the first time: that much does, as nothing has to go.
 */
export class TightBudget extends RepeatingMode {
  evictions = 0;
  /** By spec, with room for everything. */
  peakBytes = new Map();
  /** By spec, for the next time. */
  budgetBytes = new Map();

  run(spec) {
    const { peakBytes, spec: id } = this;
    const budget = this.budgetBytes.get(id);
    const meter = new MemoryMeter();
    let most = 0;
    const watch = {
      opDone: () => {
        most = Math.max(most, meter.liveBytes);
      },
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
        return withDispatchMode(watch, () => withMemoryBudget(`${budget ?? ampleBytes}B`, budgeted, { online: true }));
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
      // What is held to recompute the rest may make it ask for more than all takes.
      const next = messages.some(isOfLeftWork) ? Number(asked) : Math.min(Number(asked), peakBytes);
      // What asks for no more than it had has failed by something else.
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
