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
  OpCall,
  OpDone,
  RunNext,
  SavedTensor,
  Storage,
  StorageOrigin,
  TapeNode,
} from "./dispatch-mode.js";
export { type ModuleNamer, nameModulesBy } from "./fake/data-dependent-error.js";
export { PatchSet } from "./patch-set.js";
export {
  type BackendAttempt,
  type BackendName,
  type BackendSelection,
  type SelectBackendOptions,
  selectBackend,
} from "./select-backend.js";
export type { SharedBuffer, TensorShape } from "./sharing-rules.js";
export { optimizerStepMark, TraceRecorder, type TraceRecorderOptions } from "./trace-recorder.js";
export { isDispatching, openDispatchMode, storagesOf, watchOptimizer, withDispatchMode } from "./with-dispatch-mode.js";
