import { countSteps, priceTrace, stepMs } from "@remat/runtime-estimator";
import { RuntimeSource, type Trace } from "@remat/trace";
import type { FitUnit } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";

/** Returns a step with estimated times of its ops on the unit's device. Measured times stay if the unit says so. */
export function priced(trace: Trace, { spec, keepsMeasured }: Pick<FitUnit, "spec" | "keepsMeasured">): Trace {
  return keepsMeasured === true && trace.ops.runtimeSource.includes(RuntimeSource.measured)
    ? trace
    : priceTrace(trace, spec);
}

/** Returns the step for planning and early release, with the times of its ops. */
export async function freeStep(unit: FitUnit, steps: StepsToFit, batch: number): Promise<Trace> {
  const { optimizer } = unit.configuration;
  return priced(await (steps.freeStepAt ?? steps.stepAt).call(steps, batch, optimizer), unit);
}

/** Returns the time of one step of a run, which may have several. Returns 0 if ops have no times. */
export function msOfStep(trace: Trace): number {
  return stepMs(trace) / countSteps(trace);
}
