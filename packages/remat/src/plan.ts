import { type Budget, bytesOfBudget, heldPeak, type MemoryBudget, parseBudget } from "@remat/memory";
import { nothingWithin, planCheckpointing } from "@remat/planner";
import { defaultDeviceHere, deviceSpec, priceTrace } from "@remat/runtime-estimator";
import {
  checkCallOptions,
  type DeviceSpec,
  formatOccurrence,
  isText,
  isTimeMs,
  type Plan,
  RematError,
  RuntimeSource,
  type Trace,
} from "@remat/trace";
import { stepToPlan } from "@remat/tracer/step";
import { type StepOptions, stepOptionChecks, type Trainable, traceOf } from "./trace-of.js";

/** Options of `plan`. */
export interface PlanOptions extends StepOptions {
  /** Memory budget of the step: bytes, a size (`"2GB"`), or a share of its peak without a plan (`"60%"`). */
  readonly budget: MemoryBudget;
  /** Time to search for a better plan, in milliseconds. Default: 5000. */
  readonly planningMs?: number;
  /**
   * Device for which the times of ops are estimated, if the trace has no measured times. They decide which ops are
   * cheap to recompute. Default: `cpu`.
   */
  readonly device?: string;
}

/**
 * Plans which tensors a training step saves and which it recomputes, to stay within the budget with the least slowdown.
 * Pass the plan to `withMemoryBudget(budget, fn, { plan })`, or save it with `writePlan` for `remat run --plan`.
 *
 * A function that takes a step is called twice, or four times if the budget is a share of its peak.
 *
 * @param what a model, a function that takes one training step, or a trace
 * @throws InfeasibleBudgetError if no plan fits the budget; it contains the smallest budget for which one was found
 * @throws RematError the same errors as `memoryOf`, and `BUDGET` for an invalid budget
 * @example
 * const planned = await plan(model, { batch: 32, budget: "60%" });
 * await withMemoryBudget("60%", () => model.fit(x, y, { batchSize: 32 }), { plan: planned });
 */
export async function plan(what: Trainable, options: PlanOptions): Promise<Plan> {
  checkCallOptions("plan", options, {
    budget: [() => true, "a budget"],
    ...stepOptionChecks,
    planningMs: [isTimeMs, "milliseconds from 0 up"],
    device: [isText, "the name of one, such as a100"],
  });
  const { budget, planningMs = 5000, device = defaultDeviceHere, ...step } = options;
  const spec = deviceSpec(device);
  const parsed = parseBudget(budget);
  const trace = withTimes(await traceOf(what, step, stepToPlan), spec);
  // A share refers to the step without a plan.
  const budgetBytes = "bytes" in parsed ? parsed.bytes : await bytesOfPart(parsed, what, step);
  const { point, infeasible } = await planCheckpointing(trace, { budgetBytes, timeMs: planningMs });
  if (point !== undefined) return point.plan;
  if (infeasible === undefined)
    throw new RematError(
      "PLANNER_BUG",
      "the planner returned neither a plan nor a reason. Please report this as a bug.",
    );
  const name = trace.header.model ?? "model";
  const occurrence = formatOccurrence(infeasible.occurrence);
  throw nothingWithin({ ...infeasible, occurrence, name, budgetBytes });
}

async function bytesOfPart(part: Budget, what: Trainable, step: StepOptions): Promise<number> {
  return bytesOfBudget(
    part,
    heldPeak(await traceOf(what, step, { checkpointing: stepToPlan.checkpointing })).peakBytes,
  );
}

function withTimes(trace: Trace, device: DeviceSpec): Trace {
  return trace.ops.runtimeSource.includes(RuntimeSource.measured) ? trace : priceTrace(trace, device);
}
