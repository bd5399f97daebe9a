export { displayMoment } from "./display-moment.js";
export { MemTracker, type ModuleState } from "./mem-tracker.js";
export type { MemoryReducer } from "./memory-reducer.js";
export { formatInUnit, type MemoryUnit, memoryUnits, parseMemoryUnit } from "./memory-units.js";
export type { ModuleMemory } from "./module-record.js";
export { requireMemoryTrace, type TrackMemoryOptions, trackLive, trackMemory } from "./track-memory.js";
export type { TraceSource, TrackerOptions } from "./tracker-options.js";
