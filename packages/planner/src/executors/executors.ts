/** What follows a plan, and so what a plan can say. */
export interface PlanExecutor {
  readonly name: string;
  /** For help: what it follows. */
  readonly purpose: string;
  /** Of which frameworks the runs are that are planned for it; undefined for any. */
  readonly framework?: string;
}

/** Follows plans op by op: `@remat/checkpoint` in TensorFlow.js. */
export const tfjsExecutor: PlanExecutor = {
  name: "tfjs",
  purpose: "op by op, as @remat/checkpoint does in TensorFlow.js",
};

/** Follows policies of modules: `torch.utils.checkpoint` in PyTorch. */
export const torchCheckpointExecutor: PlanExecutor = {
  name: "torch-checkpoint",
  purpose: "modules, one inside the other, as torch.utils.checkpoint does in PyTorch",
  framework: "pytorch",
};

/** All executors that plans are made for. To add one: its folder here, and a line. */
export const planExecutors: readonly PlanExecutor[] = [tfjsExecutor, torchCheckpointExecutor];
