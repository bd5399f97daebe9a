import { countSteps, priceTrace, stepMs } from "@remat/runtime-estimator";
import { RuntimeSource, type Trace } from "@remat/trace";
import type { FitUnit } from "../fit-unit.js";

/** Returns a step with the times that its ops take on the unit's device; what was measured stays where the unit says so. */
export function priced(trace: Trace, { spec, keepsMeasured }: Pick<FitUnit, "spec" | "keepsMeasured">): Trace {
  return keepsMeasured === true && trace.ops.runtimeSource.includes(RuntimeSource.measured)
    ? trace
    : priceTrace(trace, spec);
}

/** Returns what one step of a run takes, which may be of several; 0 where ops have no times. */
export function msOfStep(trace: Trace): number {
  return stepMs(trace) / countSteps(trace);
}
