import type { FasterGradients } from "@remat/trace";
import type { ModeStack } from "../mode-stack.js";
import { openSession } from "../open-session.js";

/** Returns what the open modes want, those that the running code is inside of: one that follows a plan of tfjs's own gradients has the last word. @internal */
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

/** Returns which gradients run now in the place of tfjs's own, inside of `tf.grads` and whatever calls it. */
export const fasterGradientsNow = (): FasterGradients | undefined => openSession()?.pass?.wanted.fasterGradients;
