export type { BackendName } from "../find-backend.js";
export { classifyFailure, type MissingPart } from "./backend-failure.js";
export { cacheFolder, type NativePackage, nativeAppFolder, nativeVersion } from "./native-cache.js";
export {
  type BackendAttempt,
  type BackendPackage,
  type BackendSelection,
  backendPackages,
  backendPlaces,
  type SelectBackendOptions,
  selectBackend,
} from "./select-backend.js";
