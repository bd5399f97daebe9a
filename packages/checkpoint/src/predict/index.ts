export {
  predictPlanned,
  predictReleased,
  predictReleasedPeak,
  predictStock,
  releasedVariant,
  type StepPrediction,
  traceReleasedStep,
} from "./predict-step.js";
export { hostMsOf, stepWays, type WayToTrain } from "./step-ways.js";
export { type TimedStep, type TimeTrainingOptions, timeTraining } from "./time-training.js";
