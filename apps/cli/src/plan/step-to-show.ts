import { heldPeak, tellsLifetimes } from "@remat/memory";
import { type Plan, type Trace, withNotes } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import type { ModelOptions } from "../model-options.js";
import { isOf, type ModelSource } from "../model-source.js";
import { withGradientsOf, withGradientsOfPlans } from "./gradients-of-plan.js";

/** What a step of a model is taken for. */
export interface StepsToShow {
  /** Takes the step for its memory alone. */
  trace(options: ModelOptions): Promise<Trace>;
  /** Takes it as it will be shown; left out: as for its memory. */
  price?(options: ModelOptions): Promise<Trace>;
}

/** What is shown of a step, and the step as plans are made of it, where its ops are others. */
export interface ShownStep {
  readonly trace: Trace;
  readonly planned?: Trace;
}

/**
 * Returns what report and terminal show of SOURCE by itself, or with a plan for it. They show a model's step with the gradients that plans are followed with,
 * as `remat plan` plans it, and draw plans over it; where that holds something else at its peak than the user's own step does, the latter. A note says which where they differ.
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
        `shown with tfjs's own gradients; those that plans and early release take hold ${formatBytes(plannedBytes)} at the peak before anything is freed earlier`,
      ]),
      planned,
    };
  if (planned.ops.count === stock.ops.count) return { trace: planned };
  return {
    trace: withNotes(planned, [
      `shown with the gradients that plans and early release take: ${planned.ops.count} ops, where tfjs's own take ${stock.ops.count} and the same peak`,
    ]),
  };
}
