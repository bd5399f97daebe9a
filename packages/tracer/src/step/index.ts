export { type Loss, type LossName, lossByName, lossNames } from "../losses.js";
export {
  defineModel,
  definitionOfLayersModel,
  disposeDefinition,
  type ModelContext,
  type ModelDefinition,
  type ModelFactory,
  type ScopeFn,
  type TfNamespace,
  tfNamespace,
  trainableVariables,
} from "../model-definition.js";
export { type OptimizerName, optimizerByName, optimizerNames } from "../optimizers.js";
export { resolveStep, type StepRequest, type StepSpec } from "../step-spec.js";
export { type PrepareStepOptions, prepareStep, type StepObserver, type TrainingStep } from "../training-step.js";
