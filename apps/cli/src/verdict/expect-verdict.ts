import type { ModelOptions } from "../model-options.js";
import type { ModelSource } from "../model-source.js";
import { withGradientsOfPlans } from "../plan/gradients-of-plan.js";
import { expectSteps } from "../trace-once.js";

/** Announces the steps that a verdict on a model's step is made of, so that one model is built for all of them. */
export function expectVerdict(source: ModelSource, options: ModelOptions, updateInBackward = false): void {
  expectSteps(source, [
    { options },
    { options: withGradientsOfPlans(options) },
    { options, released: { updateInBackward } },
  ]);
}
