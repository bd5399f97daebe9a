export { type AtenSchema, atenFlags } from "./aten-flags.js";
export {
  type CheckpointedModule,
  type CheckpointPolicyFile,
  toCheckpointPolicyFile,
  writeCheckpointPolicyFile,
} from "./checkpoint-policy-file.js";
export {
  type CudaSnapshotFile,
  type SnapshotBlock,
  type SnapshotEvent,
  type SnapshotFailure,
  type SnapshotOfDevice,
} from "./cuda-snapshot-file.js";
export { pyTorchDevice } from "./pytorch-device.js";
export { readCudaSnapshot } from "./read-cuda-snapshot.js";
export {
  type FxGraphPair,
  type FxGraphs,
  type FxNode,
  type FxPartition,
  readFxGraphs,
} from "./read-fx-graphs.js";
export { readPyTorchTrace } from "./read-pytorch-trace.js";
export { type CudaAllocatorFailure, readSnapshotFailure } from "./read-snapshot-failure.js";
export {
  checkpointableModules,
  type PyTorchOpPolicy,
  type PyTorchPolicy,
  type PyTorchPolicyOptions,
  toPyTorchPolicy,
} from "./to-pytorch-policy.js";
export { writePyTorchPolicy } from "./write-pytorch-policy.js";
