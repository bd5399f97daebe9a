export { type Loss, type LossName, lossByName, lossNames } from "../losses.js";
export {
  defineModel,
  type ModelContext,
  type ModelDefinition,
  type ModelFactory,
  type MoveFn,
  type ScopeFn,
  type TfNamespace,
  tfNamespace,
} from "../model-definition.js";
export { noOptimizer, type OptimizerName, optimizerByName, optimizerNames } from "../optimizers.js";
export {
  type Checkpointing,
  checkpointings,
  groupingNames,
  type ModelSize,
  modelSizes,
  resolveStep,
  type StepRequest,
  type StepSpec,
  stepToPlan,
} from "../step-spec.js";
export { type PrepareStepOptions, prepareStep, type StepObserver, type TrainingStep } from "../training-step.js";
