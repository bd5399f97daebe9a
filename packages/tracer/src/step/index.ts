export { describeLoss, type Loss, type LossName, lossByName, lossNames, lossNeedsTargets } from "../losses.js";
export {
  defineModel,
  definitionOfLayersModel,
  type ModelContext,
  type ModelDefinition,
  type ModelFactory,
  type ScopeFn,
  type TfNamespace,
  tfNamespace,
  trainableVariables,
} from "../model-definition.js";
export { type OptimizerName, optimizerByName, optimizerNames } from "../optimizers.js";
export {
  disposeDefinition,
  notesOf,
  type StepObserver,
  type TrainingStep,
  type TrainingStepOptions,
  trainingStep,
} from "../training-step.js";
