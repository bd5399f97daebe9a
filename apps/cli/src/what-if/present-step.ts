import { type PresentStep, type StepsToFit, stepsAtHand } from "@remat/fit";
import { deviceToFit } from "@remat/reporting/verdict";
import type { Trace } from "@remat/trace";
import { stepsOfJob } from "../fit/steps-of-job.js";
import type { ModelOptions } from "../model-options.js";
import { isOf, type ModelSource } from "../model-source.js";
import type { Pricing } from "../pricing-options.js";
import type { Progress } from "../progress.js";

export interface PresentStepOptions {
  readonly source: ModelSource;
  /** The options that the trace was made with. */
  readonly options: ModelOptions;
  readonly pricing: Pick<Pricing, "device" | "isAsked">;
  /** A second run, which may be the same step at another batch. */
  readonly other?: { readonly name: string; readonly trace: Trace } | undefined;
}

/**
 * Returns a step and its possible other configurations: for a model everything that it can be traced with, for a run
 * what was recorded.
 */
export async function presentStep(
  trace: Trace,
  { source, options, pricing, other }: PresentStepOptions,
  progress: Pick<Progress, "show">,
): Promise<PresentStep> {
  const { device, isAsked } = pricing;
  const steps: StepsToFit = isOf(source, "model")
    ? await stepsOfJob({ sources: [source], options }, progress)
    : stepsAtHand([{ name: source.name, trace }, ...(other === undefined ? [] : [other])]);
  return { trace, steps, device: deviceToFit(trace, device, isAsked), pricedFor: device };
}
