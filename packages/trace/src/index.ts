export {
  type AtenArguments,
  type AtenTensor,
  type AtenValue,
  atenArguments,
  encodeAtenArguments,
} from "./aten-arguments.js";
export {
  checkArgument,
  checkCallOptions,
  checkOptionNames,
  describeValue,
  isFlag,
  isPlainObject,
  isRecord,
  isText,
  isTimeMs,
  isWholeFrom,
  type OptionChecks,
} from "./check-argument.js";
export { countReplayedOps } from "./count-replayed-ops.js";
export { crc32 } from "./crc32.js";
export {
  type DeviceCalibration,
  type DeviceNetwork,
  type DeviceSpec,
  hostLaunchUs,
  type KernelSpeed,
} from "./device-spec.js";
export type { ErrorCode } from "./error-reference.js";
export { describePlanMismatch, findPlanMismatch, type PlanMismatch } from "./find-plan-mismatch.js";
export { fingerprintOf, fingerprintOfOps } from "./fingerprint.js";
export { forwardOpsByCall } from "./forward-ops.js";
export {
  type CallIndex,
  type IndexColumn,
  type ModuleIndex,
  type OpIndex,
  type StorageIndex,
  type TensorIndex,
} from "./index-types.js";
export { isTrace } from "./is-trace.js";
export { itemAt } from "./item-at.js";
export { type FailureCause, type MemoryFailure } from "./memory-failure.js";
export type { MemorySnapshot } from "./memory-snapshot.js";
export { nearestNames } from "./nearest-names.js";
export { formatOccurrence, type Occurrence, type OpSignature } from "./occurrence.js";
export { opOccurrences } from "./op-occurrences.js";
export { parseJsonText } from "./parse-json-text.js";
export {
  offloads,
  type Plan,
  type PlanOrigin,
  type PlanPrediction,
  type PlanSource,
  type PlanStep,
  type PlanSubject,
  type PlanValue,
  planFormat,
} from "./plan.js";
export { formatPlanOp, isPlanNode, type PlanNode, type PlanOp } from "./plan-op.js";
export { readPlan } from "./read-plan.js";
export { type ByteSource, parseTrace, type ReadTraceOptions, readTrace } from "./read-trace.js";
export { RematError, setErrorKind } from "./remat-error.js";
export { rowsOf } from "./rows-of.js";
export type { StepSettings } from "./step-settings.js";
export type { TensorType } from "./tensor-type.js";
export {
  type CallColumns,
  type CheckpointForm,
  type CheckpointingTimes,
  type EventColumns,
  type FasterGradients,
  type Module,
  type ModuleEventColumns,
  type OpColumns,
  opEventPositions,
  type Rows,
  row,
  type SaveColumns,
  type Scope,
  type StorageColumns,
  type TensorColumns,
  Trace,
  type TraceHeader,
  type TraceParts,
  type WeightColumns,
} from "./trace.js";
export { type OpRecord, type TensorRecord, TraceBuilder } from "./trace-builder.js";
export { type CopiedOp, TraceCopy } from "./trace-copy.js";
export { encodeProgress, TraceEncoder } from "./trace-encoder.js";
export { checkpointingTimesWanted, isCheckpointingTimes, isFasterGradients } from "./trace-header.js";
export { traceNotes, truncationCause, truncationNote, withNotes } from "./trace-notes.js";
export { transposeRows } from "./transpose-rows.js";
export {
  bytesPerElement,
  Category,
  type CategoryName,
  categoryNames,
  EventKind,
  elementsOf,
  FsdpHook,
  type FsdpHookName,
  globalModule,
  gradientsEndMark,
  gradientsStartMark,
  minimizeUpdateStartMark,
  OpFlag,
  type OpFlagName,
  Phase,
  type PhaseName,
  phaseNames,
  RuntimeSource,
  type RuntimeSourceName,
  resetModStatsMark,
  runtimeSourceNames,
  SavedAs,
  type SavedAsName,
  savedAsNames,
  stateChangedMark,
  stateReplacedMark,
  stateWrittenMark,
  transformedMark,
  updateEndMark,
  updateStartMark,
} from "./vocabulary.js";
export { writePlan } from "./write-plan.js";
export { writeTrace } from "./write-trace.js";
