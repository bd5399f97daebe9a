export { classifyFailure, type MissingPart } from "./backend-failure.js";
export { sharedBuffers, sharingBackends } from "./buffer-sharing.js";
export type {
  CloseMode,
  DispatchMode,
  GradientScope,
  GradientsCall,
  GradientsResult,
  InputGradient,
  KernelAttributes,
  KernelInputs,
  KernelOutput,
  NamedTensor,
  OpCall,
  OpDone,
  RunGradients,
  RunNext,
  SavedTensor,
  Storage,
  StorageOrigin,
  TapeNode,
} from "./dispatch-mode.js";
export { isVariable } from "./engine-internals.js";
export { type ModuleNamer, nameModulesBy } from "./fake/data-dependent-error.js";
export { cacheFolder, type NativePackage, nativeAppFolder, nativeVersion } from "./native-cache.js";
export { PatchSet } from "./patch-set.js";
export { forwardOnTape, registeredVariables, type TapedForward } from "./release/forward-on-tape.js";
export type { ConstantData } from "./residency/constants.js";
export type { KernelRecipe } from "./residency/replay.js";
export {
  type BackendAttempt,
  type BackendName,
  type BackendPackage,
  type BackendSelection,
  backendPackages,
  backendPlaces,
  type SelectBackendOptions,
  selectBackend,
} from "./select-backend.js";
export type { SharedBuffer, TensorShape } from "./sharing-rules.js";
export { optimizerStepMark, TraceRecorder, type TraceRecorderOptions } from "./trace-recorder.js";
export {
  constantOf,
  evictData,
  isDispatching,
  openDispatchMode,
  pinData,
  replayKernel,
  restoreConstant,
  storagesOf,
  unpinData,
  watchOptimizer,
  withDispatchMode,
  withModeAlone,
} from "./with-dispatch-mode.js";
