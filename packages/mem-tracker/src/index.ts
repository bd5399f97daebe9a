export { displayMoment } from "./display-moment.js";
export { MemTracker, type ModuleState } from "./mem-tracker.js";
export type { MemoryReducer } from "./memory-reducer.js";
export { type MemoryTimeline, memoryTimeline, type TimelineOptions } from "./memory-timeline.js";
export { formatBytes, type MemoryUnit, memoryUnits, parseMemoryUnit } from "./memory-units.js";
export type { ModuleMemory } from "./module-record.js";
export {
  type HeldStorage,
  type MemoryMoment,
  type MomentOptions,
  type MomentPlace,
  momentAt,
  type StorageMaker,
} from "./moment.js";
export { memoryNotes, requireMemoryTrace, type TrackMemoryOptions, trackLive, trackMemory } from "./track-memory.js";
export type { TraceSource, TrackerOptions } from "./tracker-options.js";
