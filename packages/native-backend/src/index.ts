export { allocatorEnvironment } from "./caching-allocator.js";
export { type NativeSetup, type SetupNativeOptions, setupNative, type WheelDownload } from "./setup-native.js";
export type { TensorFlowLibrary } from "./tensorflow-library.js";
export { type NativeCheck, verifyNative } from "./verify-addon.js";
export type { WheelRequirement } from "./wheel-index.js";
