import type { FasterGradients, Plan } from "@remat/trace";
import { stepToPlan } from "@remat/tracer/step";
import type { ModelOptions } from "../model-options.js";

/** Returns the options for tracing a model that a plan is drawn over, with the gradients of that plan. */
export const withGradientsOf = (plan: Plan | undefined, options: ModelOptions): ModelOptions =>
  plan === undefined ? options : withGradients(plan.subject.fasterGradients, options);

/** Returns the options for tracing a model that plans will be made for. */
export const withGradientsOfPlans = (options: ModelOptions): ModelOptions =>
  withGradients(stepToPlan.fasterGradients, options);

const withGradients = (fasterGradients: FasterGradients | undefined, options: ModelOptions): ModelOptions => ({
  ...options,
  request: { ...options.request, fasterGradients },
});
