import { tellsSaves } from "@remat/memory/checkpointing";
import type { Trace } from "@remat/trace";

/** What follows a plan, and so what a plan can say. */
export interface PlanExecutor {
  readonly name: string;
  /** For help: what it follows. */
  readonly purpose: string;
  /** What its plans are of: a recorded or traced training step, or the graphs that a model is compiled into. */
  readonly plans: "step" | "compiled";
  /** Of which frameworks the runs are that are planned for it; undefined for any. */
  readonly framework?: string;
}

/** Follows plans op by op: `@remat/checkpoint` in TensorFlow.js. */
export const tfjsExecutor: PlanExecutor = {
  name: "tfjs",
  purpose: "op by op, as @remat/checkpoint does in TensorFlow.js",
  plans: "step",
};

/** Follows policies of modules: `torch.utils.checkpoint` in PyTorch. */
export const torchCheckpointExecutor: PlanExecutor = {
  name: "torch-checkpoint",
  purpose: "modules, one inside the other, as torch.utils.checkpoint does in PyTorch",
  plans: "step",
  framework: "pytorch",
};

/** Follows a budget for activations: the min-cut partitioner of `torch.compile`, which decides by itself what of a model is saved for the backward pass. */
export const torchCompileExecutor: PlanExecutor = {
  name: "torch-compile",
  purpose: "activation_memory_budget, by which torch.compile partitions a model in PyTorch",
  plans: "compiled",
  framework: "pytorch",
};

/** All executors that plans are made for. To add one: its folder here, and a line. */
export const planExecutors: readonly PlanExecutor[] = [tfjsExecutor, torchCheckpointExecutor, torchCompileExecutor];

/** Returns what the plans of a run are made for where nobody says: PyTorch of one of PyTorch that tells what autograd saves. */
export function executorOf(trace: Trace): PlanExecutor {
  const isTorch = trace.header.framework === torchCheckpointExecutor.framework && tellsSaves(trace);
  return isTorch ? torchCheckpointExecutor : tfjsExecutor;
}
