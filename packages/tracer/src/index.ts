export { describeLoss, type Loss, type LossName, lossByName, lossNames } from "./losses.js";
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
} from "./model-definition.js";
export { OpStopwatch, type StepTimes, type StepWay } from "./op-stopwatch.js";
export { type OptimizerName, optimizerByName, optimizerNames } from "./optimizers.js";
export { optimizerStepMark, TraceRecorder, type TraceRecorderOptions } from "./recorder/trace-recorder.js";
export { type TimeFakeStepOptions, timeFakeStep } from "./time-fake-step.js";
export { type TimeStepOptions, timeStep } from "./time-step.js";
export { type TraceFakeStepOptions, type TraceStepOptions, traceFakeStep, traceStep } from "./trace-step.js";
export {
  disposeDefinition,
  type StepObserver,
  type TrainingStep,
  type TrainingStepOptions,
  trainingStep,
} from "./training-step.js";
