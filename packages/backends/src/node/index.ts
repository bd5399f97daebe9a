export type { BackendName } from "../find-backend.js";
export { classifyFailure, type MissingPart } from "./backend-failure.js";
export { checkCached, checkOwner } from "./check-cached.js";
export { cacheFolder, type Environment, type NativePackage, nativeAppFolder, nativeVersion } from "./native-cache.js";
export {
  type BackendAttempt,
  type BackendPackage,
  type BackendSelection,
  backendPackages,
  backendPlaces,
  type SelectBackendOptions,
  selectBackend,
} from "./select-backend.js";
export { formatSums, hashFile, readSums, sumsFile } from "./sums.js";
export { distrustOf, distrustOfWay } from "./trusted-files.js";
