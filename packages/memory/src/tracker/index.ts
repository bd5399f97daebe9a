export { type MemoryUnit } from "@remat/trace/text";
export { fsdpTrackerLabels } from "./category-labels.js";
export { displayMoment } from "./display-moment.js";
export { MemTracker, type ModuleState } from "./mem-tracker.js";
export { MemoryReducer } from "./memory-reducer.js";
export type { ModuleMemory, ModuleRecord } from "./module-record.js";
export { requireMemoryTrace, type TrackMemoryOptions, trackLive, trackMemory } from "./track-memory.js";
export type { TraceSource, TrackerOptions } from "./tracker-options.js";
