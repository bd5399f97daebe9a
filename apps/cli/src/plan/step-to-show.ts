import { heldPeak, tellsLifetimes } from "@remat/memory";
import { type Plan, type Trace, withNotes } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import type { ModelOptions } from "../model-options.js";
import { isOf, type ModelSource } from "../model-source.js";
import { withGradientsOf, withGradientsOfPlans } from "./gradients-of-plan.js";

/** How to trace a model's step. */
export interface StepsToShow {
  /** Traces the step for its memory alone. */
  trace(options: ModelOptions): Promise<Trace>;
  /** Traces it with everything to be shown. Left out: same as `trace`. */
  price?(options: ModelOptions): Promise<Trace>;
}

/** The step to show, and the step that plans are made for if its ops differ. */
export interface ShownStep {
  readonly trace: Trace;
  readonly planned?: Trace;
}

/**
 * Returns the step that the report and the terminal app show for a source, with or without a plan. A model's step is
 * shown with the gradients that plans use, and plans are drawn over it. If these gradients change the peak, the step is
 * shown with the model's own gradients. A note states any difference.
 */
export async function stepToShow(
  source: ModelSource,
  options: ModelOptions,
  steps: StepsToShow,
  plan?: Plan,
): Promise<ShownStep> {
  const { trace, price = trace } = steps;
  const { request } = options;
  const withGradients = plan === undefined ? withGradientsOfPlans(options) : withGradientsOf(plan, options);
  const isPlannedOtherwise =
    isOf(source, "model") &&
    request.predict !== true &&
    request.fasterGradients === undefined &&
    withGradients.request.fasterGradients !== undefined;
  if (!isPlannedOtherwise) return { trace: await price(options) };
  const stock = await trace(options);
  if (!tellsLifetimes(stock) || stock.header.step?.predict === true) return { trace: await price(options) };
  const planned = await price(withGradients);
  const stockBytes = heldPeak(stock).peakBytes;
  const plannedBytes = heldPeak(planned).peakBytes;
  if (plannedBytes !== stockBytes)
    return {
      trace: withNotes(steps.price === undefined ? stock : await price(options), [
        `shown with tfjs's own gradients. With the gradients that plans and early release use, the peak is ${formatBytes(plannedBytes)} before anything is freed earlier`,
      ]),
      planned,
    };
  if (planned.ops.count === stock.ops.count) return { trace: planned };
  return {
    trace: withNotes(planned, [
      `shown with the gradients that plans and early release use: ${planned.ops.count} ops, instead of ${stock.ops.count} with tfjs's own, and the same peak`,
    ]),
  };
}
