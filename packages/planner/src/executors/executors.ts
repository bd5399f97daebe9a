import { tellsSaves } from "@remat/memory/checkpointing";
import type { Trace } from "@remat/trace";

/** The program that follows a plan. It determines what a plan may contain. */
export interface PlanExecutor {
  readonly name: string;
  /** The executor's purpose in one line, for the help text. */
  readonly purpose: string;
  /** The subject of its plans: a recorded or traced training step, or the graphs that a model is compiled into. */
  readonly plans: "step" | "compiled";
  /** The framework of the runs planned for it, or undefined for any. */
  readonly framework?: string;
}

/** Follows plans op by op: `@remat/checkpoint` in TensorFlow.js. */
export const tfjsExecutor: PlanExecutor = {
  name: "tfjs",
  purpose: "@remat/checkpoint in TensorFlow.js, op by op",
  plans: "step",
};

/** Follows policies of modules: `torch.utils.checkpoint` in PyTorch. */
export const torchCheckpointExecutor: PlanExecutor = {
  name: "torch-checkpoint",
  purpose: "torch.utils.checkpoint in PyTorch, nested modules",
  plans: "step",
  framework: "pytorch",
};

/**
 * Follows a budget for activations: the min-cut partitioner of `torch.compile`. The partitioner decides which tensors
 * are saved for the backward pass.
 */
export const torchCompileExecutor: PlanExecutor = {
  name: "torch-compile",
  purpose: "torch.compile in PyTorch, by activation_memory_budget",
  plans: "compiled",
  framework: "pytorch",
};

/** All executors for which remat makes plans. To add one, add its folder and a line here. */
export const planExecutors: readonly PlanExecutor[] = [tfjsExecutor, torchCheckpointExecutor, torchCompileExecutor];

/**
 * Returns the default executor for plans of a run. It is PyTorch's checkpointing for a PyTorch run that records the
 * tensors that autograd saves, otherwise TensorFlow.js.
 */
export function executorOf(trace: Trace): PlanExecutor {
  const isTorch = trace.header.framework === torchCheckpointExecutor.framework && tellsSaves(trace);
  return isTorch ? torchCheckpointExecutor : tfjsExecutor;
}
