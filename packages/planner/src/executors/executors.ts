import { tellsSaves } from "@remat/memory/checkpointing";
import type { Trace } from "@remat/trace";

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

/** Returns what the plans of a run are made for where nobody says: PyTorch of one of PyTorch that tells what autograd saves. */
export function executorOf(trace: Trace): PlanExecutor {
  const isTorch = trace.header.framework === torchCheckpointExecutor.framework && tellsSaves(trace);
  return isTorch ? torchCheckpointExecutor : tfjsExecutor;
}
