export { decideCheckpointing } from "./decide-checkpointing.js";
export { type Loss, type LossName, lossByName, lossNames } from "./losses.js";
export {
  defineModel,
  type ModelContext,
  type ModelDefinition,
  type ModelFactory,
  type MoveFn,
  type ScopeFn,
  type TfNamespace,
  tfNamespace,
  trainableVariables,
} from "./model-definition.js";
export { OpStopwatch, type StepTimes, type StepWay } from "./op-stopwatch.js";
export { noOptimizer, type OptimizerName, optimizerByName, optimizerNames } from "./optimizers.js";
export { OpRecorder } from "./recorder/op-recorder.js";
export { TraceRecorder, type TraceRecorderOptions } from "./recorder/trace-recorder.js";
export { SeededRandom } from "./seeded-random.js";
export { cpuClock, type StepClock } from "./step-clock.js";
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
} from "./step-spec.js";
export { type TimeFakeStepOptions, timeFakeStep } from "./time-fake-step.js";
export { type TimeStepOptions, timeStep } from "./time-step.js";
export { type StepVariant, type TraceStepOptions, traceFakeStep, traceFakeSteps, traceStep } from "./trace-step.js";
export { type PrepareStepOptions, prepareStep, type StepObserver, type TrainingStep } from "./training-step.js";
export { withMeasuredTimes } from "./with-measured-times.js";
