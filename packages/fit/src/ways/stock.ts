import type { FitWay } from "./fit-way.js";
import { takePasses } from "./passes.js";
import { priced } from "./priced.js";
import { isSharded, shardedStep } from "./sharded.js";

/** The strategy that runs the step unchanged. */
export const stockWay: FitWay = {
  name: "stock",
  purpose: "the unmodified step",
  isPlanned: () => false,
  refuses: () => undefined,
  async stepWith(unit, steps, batch) {
    const trace = priced(await steps.stepAt(batch, unit.configuration.optimizer), unit);
    if (isSharded(unit)) return shardedStep(unit, trace, batch, {});
    const { peakBytes, bytesByCategory, ms } = takePasses(unit, trace, batch);
    return { batch, peakBytes, bytesByCategory, stepMs: ms || undefined, overhead: 0 };
  },
};
