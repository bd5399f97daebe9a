export { accountSequence, type SequenceAccount } from "./account-sequence.js";
export { holdPlan, type PlanMemory, type RecomputedStorage } from "./hold-plan.js";
export {
  holdSequence,
  nodeAt,
  type SequenceMemory,
  valuesFreedAfter,
  valuesOffloadedAfter,
} from "./hold-sequence.js";
export { hostPeakBytes, movedBytes, type OffloadedStorage } from "./offloaded-storages.js";
export { type PlanValues, planValues } from "./plan-values.js";
export type { SequenceGraph } from "./sequence-graph.js";
export {
  type SequenceGraphOptions,
  sequenceGraphOfTrace,
  type TraceSequenceGraph,
} from "./sequence-graph-of-trace.js";
export { type PlanSequence, sequenceOfPlan } from "./sequence-of-plan.js";
export { type StepContext, StepFacts } from "./step-facts.js";
export { unrecomputedPeakBytes } from "./unrecomputed-peak.js";
