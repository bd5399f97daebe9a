import { type CloseMode, openDispatchMode } from "@remat/dispatch-hook";
import type { StepRequest } from "./step-spec.js";

/**
 * Has blocks that are checkpointed by hand run as they are from here on, where a request wants them `free`; does nothing otherwise. Returns what ends it.
 *
 * @example
 * const stop = decideCheckpointing({ checkpointing: "free" });
 * step.take();
 * stop();
 */
export function decideCheckpointing({ checkpointing }: Pick<StepRequest, "checkpointing">): CloseMode {
  return checkpointing === "free" ? openDispatchMode({ decidesCheckpointing: true }) : () => {};
}
