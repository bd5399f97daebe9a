import { type CloseMode, currentBackend, openDispatchMode } from "@remat/dispatch-hook";
import { backend } from "@tensorflow/tfjs-core";
import type { StepRequest } from "./step-spec.js";

/**
 * Prepares for a step to be planned. If the request sets `checkpointing: "free"`, blocks with manual activation
 * checkpointing run without recomputation, and memory that waits for queued kernels is freed before and after each op.
 * Otherwise it does nothing. Returns a function that ends it.
 *
 * @example
 * const stop = decideCheckpointing({ checkpointing: "free" });
 * step.take();
 * stop();
 */
export function decideCheckpointing({ checkpointing }: Pick<StepRequest, "checkpointing">): CloseMode {
  if (checkpointing !== "free") return () => {};
  const { freedMemory } = currentBackend();
  const settle = () => freedMemory?.settle(backend());
  return openDispatchMode({
    decidesCheckpointing: true,
    ...(freedMemory !== undefined && { opComing: settle, opOver: settle }),
  });
}
