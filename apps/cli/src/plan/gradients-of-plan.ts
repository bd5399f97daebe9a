import type { Plan } from "@remat/trace";
import type { ModelOptions } from "../model-options.js";

/** Returns what a model is traced with where a plan is laid over it: the gradients that the plan is for. */
export const withGradientsOf = (plan: Plan | undefined, options: ModelOptions): ModelOptions =>
  plan === undefined
    ? options
    : { ...options, request: { ...options.request, fasterGradients: plan.subject.fasterGradients } };
