import type { FasterGradients, Plan } from "@remat/trace";
import { stepToPlan } from "@remat/tracer/step";
import type { ModelOptions } from "../model-options.js";

/** Returns what a model is traced with where a plan is laid over it: the gradients that the plan is for. */
export const withGradientsOf = (plan: Plan | undefined, options: ModelOptions): ModelOptions =>
  plan === undefined ? options : withGradients(plan.subject.fasterGradients, options);

/** Returns what a model is traced with where plans will be made of it. */
export const withGradientsOfPlans = (options: ModelOptions): ModelOptions =>
  withGradients(stepToPlan.fasterGradients, options);

const withGradients = (fasterGradients: FasterGradients | undefined, options: ModelOptions): ModelOptions => ({
  ...options,
  request: { ...options.request, fasterGradients },
});
