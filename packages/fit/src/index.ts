export {
  describeBest,
  describeConfiguration,
  describeNext,
  type FitDocumentOptions,
  fitDocument,
  formatRate,
  formatStepMs,
} from "./fit-document.js";
export { type FitRequest, unitsOf, usualIterations } from "./fit-request.js";
export {
  type BatchRange,
  type FitAnswer,
  type FitConfiguration,
  type FitObjective,
  type FitPrecision,
  type FitRow,
  type FitStep,
  type FitUnit,
  type FitWayName,
  fitObjectives,
  fitPrecisions,
  fitWayNames,
  type NotFitting,
} from "./fit-unit.js";
export {
  type FitCell,
  type FitDimension,
  type FitMatrix,
  type FitValue,
  fitMatrix,
  pruneFit,
  valueOf,
} from "./matrix/fit-matrix.js";
export { type RecordedRun, stepsOfRuns } from "./recorded-steps.js";
export { fitUnitBatch } from "./search/fit-unit-batch.js";
export type { StepsToFit } from "./steps-to-fit.js";
export { type FitSummary, type RankedRow, type SummarizeFitOptions, summarizeFit } from "./summarize-fit.js";
export type { FitWay } from "./ways/fit-way.js";
export { fitWays } from "./ways/fit-ways.js";
export { answerUsualWhatIfs, answerWhatIf, type PresentStep, presentWhatIf } from "./what-if/answer-what-if.js";
export { stepsAtHand } from "./what-if/steps-at-hand.js";
export { parseWhatIf, type WhatIf } from "./what-if/what-if.js";
