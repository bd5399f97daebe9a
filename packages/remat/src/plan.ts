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

export interface PlanOptions extends StepOptions {
  /** What the step may hold: bytes, a size (`"2GB"`), or a part of what it holds without a plan (`"60%"`). */
  readonly budget: MemoryBudget;
  /** How long to look for a better plan, in milliseconds; 5000 if left out. */
  readonly planningMs?: number;
  /** Whose times decide what is cheap to recompute, where none were measured: a name of `remat`'s devices; `cpu` if left out. */
  readonly device?: string;
}

/**
 * Decides what a training step saves and what it recomputes, so that it holds no more than the budget in as little time as possible. For
 * `withMemoryBudget(budget, fn, { plan })`, or as a file (`writePlan`) for `remat run --plan`.
 * A function is called twice, and twice more where the budget is a part of what its step holds without a plan.
 *
 * @throws InfeasibleBudgetError where no plan is found within the budget, with the smallest that was; RematError as `memoryOf`, and `BUDGET` for what
 * is no budget
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
  // A part is one of what the step holds as it is.
  const budgetBytes = "bytes" in parsed ? parsed.bytes : await bytesOfPart(parsed, what, step);
  const { point, infeasible } = await planCheckpointing(trace, { budgetBytes, timeMs: planningMs });
  if (point !== undefined) return point.plan;
  if (infeasible === undefined) throw new RematError("PLANNER_BUG", "neither a plan nor why there is none");
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
