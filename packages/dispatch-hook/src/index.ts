export { sharedBuffers, sharingBackends } from "./buffer-sharing.js";
export type {
  CloseMode,
  DispatchMode,
  GradientScope,
  GradientsCall,
  GradientsResult,
  KernelAttributes,
  KernelInputs,
  KernelOutput,
  OpCall,
  OpDone,
  RunNext,
  SavedTensor,
  Storage,
  TapeNode,
} from "./dispatch-mode.js";
export type { SharedBuffer, TensorShape } from "./sharing-rules.js";
