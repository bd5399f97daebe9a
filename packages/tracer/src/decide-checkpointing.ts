import { type CloseMode, currentBackend, openDispatchMode } from "@remat/dispatch-hook";
import { backend } from "@tensorflow/tfjs-core";
import type { StepRequest } from "./step-spec.js";

/**
 * Has a step run as an executor takes it from here on, where a request wants blocks that are checkpointed by hand to be `free`: they run as they are, and what waits for queued kernels is
 * given back before and after each op. Does nothing otherwise. Returns what ends it.
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
