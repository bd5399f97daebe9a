export { currentBackend, currentDevice } from "./current-backend.js";
export type { DispatchInterceptor } from "./dispatch-interceptor.js";
export type { CloseMode, DispatchMode } from "./dispatch-mode.js";
export type {
  AutogradObserver,
  DataObserver,
  DispatchObserver,
  ModeLifecycle,
  OpObserver,
  RecomputationObserver,
} from "./dispatch-observer.js";
export type { DispatchPolicy } from "./dispatch-policy.js";
export { isVariable } from "./engine-internals.js";
export type {
  ApplyGradients,
  CheckpointedBlock,
  GradientScope,
  GradientsCall,
  GradientsResult,
  InputGradient,
  NamedTensor,
  OpCall,
  OpDone,
  RunGradients,
  RunNext,
  SavedTensor,
  Storage,
  StorageOrigin,
  TapeNode,
  UpdateCall,
  UpdateTurns,
} from "./engine-records.js";
export { hasFasterGradient } from "./gradients/replace-gradient.js";
export { fasterGradientsNow } from "./gradients/wanted-gradients.js";
export type { KernelAttributes, KernelInputs, KernelOutput } from "./kernels/index.js";
export { type ModuleNamer, nameModulesBy } from "./module-namer.js";
export { forEachInput } from "./op.js";
export { PatchSet } from "./patch-set.js";
export { registeredVariables } from "./registered-variables.js";
export type { StepObserver } from "./step-observer.js";
export {
  eachStorageOf,
  isCheckpointingDecided,
  isDispatching,
  openDispatchMode,
  storagesOf,
  watchOptimizer,
  withDispatchMode,
  withDispatchModeSync,
  withModeAlone,
} from "./with-dispatch-mode.js";
