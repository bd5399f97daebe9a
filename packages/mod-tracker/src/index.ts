export { globalModule } from "./active-modules.js";
export type { Grouping } from "./group-layers.js";
export type { Layer } from "./layer-internals.js";
export { ModTracker } from "./mod-tracker.js";
export type { TrackedModule } from "./module-entry.js";
export { optimizerSlots } from "./optimizer-slots.js";
export type { ModTrackerOptions, TrackOptions } from "./tracker-options.js";
export type { UserHooks } from "./user-hooks.js";
