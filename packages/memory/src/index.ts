export { allocatedSizes, deviceKind, roundUpBytes } from "./allocators/device-units.js";
export { type Budget, bytesOfBudget, type MemoryBudget, parseBudget } from "./budget/parse-budget.js";
export { budgetNotFound, type UnmetBudget } from "./budget/unmet-budget.js";
export { DeviceRows } from "./held/device-rows.js";
export { heldByModule } from "./held/held-by-module.js";
export { HeldMemory, type HeldMemoryListener, type HeldPeak, heldElsewhere, heldPeak } from "./held/held-memory.js";
export { type HeldStorages, type HeldStoragesOptions, storagesAfterOp, storagesAtPeak } from "./held/held-storages.js";
export { type IdleMemory, idleAtPeak } from "./held/idle-at-peak.js";
export { countLifetimes, type MemoryEventReader, readMemoryEvents, tellsLifetimes } from "./held/memory-events.js";
export {
  type HeldStorage,
  type MemoryMoment,
  type MomentOptions,
  type MomentPlace,
  momentAt,
  momentOfPeak,
  peakMoment,
  type StorageMaker,
} from "./held/memory-moment.js";
export { type MemoryTimeline, memoryTimeline, peakOp, type TimelineOptions } from "./held/memory-timeline.js";
export { type ModuleBytes, moduleBytes, storageModules } from "./held/module-bytes.js";
export { restingBytes } from "./held/resting-bytes.js";
export { type StorageUses, storageUses } from "./held/storage-uses.js";
