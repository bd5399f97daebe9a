import type { FasterGradients } from "@remat/trace";
import type { ModeStack } from "../mode-stack.js";
import { openSession } from "../open-session.js";

/**
 * Returns the faster gradients that the open modes around the running code request. A mode with `none`, which follows a
 * plan with TensorFlow.js's own gradients, takes precedence. @internal
 */
export function fasterGradientsOf(modes: ModeStack): FasterGradients | undefined {
  let wanted: FasterGradients | undefined;
  for (const open of modes.listeners("fasterGradients")) {
    const { fasterGradients } = open.mode;
    if (!modes.isInside(open)) continue;
    if (fasterGradients === "none") return undefined;
    if (wanted !== "reordered") wanted = fasterGradients;
  }
  return wanted;
}

/** Returns the faster gradients in use now, inside `tf.grads` and its callers. Undefined if none exist. */
export const fasterGradientsNow = (): FasterGradients | undefined => openSession()?.pass?.wanted.fasterGradients;
