export { currentBackend, currentDevice } from "./current-backend.js";
export type {
  ApplyGradients,
  CheckpointedBlock,
  CloseMode,
  DispatchMode,
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
} from "./dispatch-mode.js";
export { isVariable } from "./engine-internals.js";
export { hasFasterGradient } from "./gradients/replace-gradient.js";
export { fasterGradientsNow } from "./gradients/wanted-gradients.js";
export type { KernelAttributes, KernelInputs, KernelOutput } from "./kernels/index.js";
export { type ModuleNamer, nameModulesBy } from "./module-namer.js";
export { forEachInput } from "./op.js";
export { PatchSet } from "./patch-set.js";
export { registeredVariables } from "./registered-variables.js";
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
