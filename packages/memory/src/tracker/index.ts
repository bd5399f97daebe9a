export { type MemoryUnit } from "@remat/trace/text";
export { fsdpTrackerLabels, memTrackerLabels } from "./category-labels.js";
export { displayMoment } from "./display-moment.js";
export { MemTracker } from "./mem-tracker.js";
export { MemoryReducer } from "./memory-reducer.js";
export type { ModuleMemory, ModuleRecord } from "./module-record.js";
export { type ModuleState, moduleStateLabels } from "./state-labels.js";
export { requireMemoryTrace, type TrackMemoryOptions, trackLive, trackMemory } from "./track-memory.js";
export type { TraceSource, TrackerOptions } from "./tracker-options.js";
