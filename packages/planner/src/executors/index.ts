export {
  executorOf,
  type PlanExecutor,
  planExecutors,
  tfjsExecutor,
  torchCheckpointExecutor,
  torchCompileExecutor,
} from "./executors.js";
export {
  type CheckpointUnits,
  type NamedCheckpoints,
  planTorchCheckpoints,
  type TorchCheckpoints,
  type TorchCheckpointsAnswer,
  type TorchCheckpointsOptions,
} from "./torch-checkpoint/plan-torch-checkpoints.js";
export { type TorchFrontOptions, type TorchFrontPoint, torchFront } from "./torch-checkpoint/torch-front.js";
export type { CompiledNode } from "./torch-compile/fused-kernels.js";
export {
  type CompiledBudget,
  type CompiledModel,
  type CompiledPartition,
  planTorchCompile,
  type TorchCompileAnswer,
  type TorchCompileOptions,
} from "./torch-compile/plan-torch-compile.js";
