export { allocatorEnvironment, keepingWithin } from "./allocator-library.js";
export type { WheelDownload } from "./find-library.js";
export type { WheelRequirement } from "./pins.js";
export type { SealProblem } from "./seal-folder.js";
export { type NativeSetup, type SetupNativeOptions, setupNative } from "./setup-native.js";
export type { TensorFlowLibrary } from "./tensorflow-library.js";
export { type NativeCheck, verifyNative } from "./verify-addon.js";
export { type CacheItem, verifyCache } from "./verify-cache.js";
