export { buildGraph, type GraphNodeRecord, type GraphRecord } from "./build-graph.js";
export { buildMemoryProfile, peakOfProfile } from "./build-memory-profile.js";
export {
  busiestDevice,
  type CompiledNodeRecord,
  type CompiledPass,
  type CompiledRecord,
  type CompiledStepMemory,
  holdCompiledStep,
} from "./compiled-step.js";
export { type FwdBwdInteractions, getFwdBwdInteractions, getPeakMemory } from "./forward-backward.js";
export {
  type DeviceFilter,
  type Graph,
  type GraphStorages,
  type IsReleasable,
  type MemoryOptions,
  NodeKind,
  type NodeKindName,
  type StorageKey,
} from "./graph.js";
export { GraphAliasTracker } from "./graph-alias-tracker.js";
export { type GraphOfTraceOptions, graphOfTrace, type TraceGraph } from "./graph-of-trace.js";
