export type { BackendPackage, NativePackage } from "../backend.js";
export type { BackendName } from "../find-backend.js";
export { restoreUtil } from "../native/restore-util.js";
export { classifyFailure, type MissingPart } from "./backend-failure.js";
export { type BroughtBackend, backendPackages, findPackage } from "./backend-packages.js";
export { backendPlaces } from "./backend-places.js";
export { checkCached } from "./check-cached.js";
export { cacheFolder, type Environment, nativeAppFolder, nativeVersion } from "./native-cache.js";
export {
  type BackendAttempt,
  type BackendSelection,
  lackOfGpu,
  type SelectBackendOptions,
  selectBackend,
  usesGpuNow,
} from "./select-backend.js";
export { type BackendModule, startBackend } from "./start-backend.js";
export { formatSums, hashFile, readSums, sumsFile } from "./sums.js";
export { distrustOf, distrustOfWay } from "./trusted-files.js";
