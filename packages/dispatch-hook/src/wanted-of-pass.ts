import { replaceKernels } from "./gradients/replace-kernels.js";
import { fasterGradientsOf } from "./gradients/wanted-gradients.js";
import type { GradientsPass } from "./gradients-pass.js";
import type { ModeStack } from "./mode-stack.js";
import { openSession } from "./open-session.js";
import type { Session } from "./session.js";

/** Whether one of the modes that the running code is inside of wants it. @internal */
export function isWanted(
  modes: ModeStack,
  flag: "releasesEarly" | "prunesSaved" | "sharesOnes" | "sharesSaved",
): boolean {
  return modes.listeners(flag).some((open) => open.mode[flag] && modes.isInside(open));
}

/** Whether one of them wants weights to be updated in the backward pass, and none does not. @internal */
export function wantsUpdateInBackward(modes: ModeStack): boolean {
  const wishes = modes.listeners("updatesInBackward").filter((open) => modes.isInside(open));
  return wishes.length > 0 && wishes.every((open) => open.mode.updatesInBackward !== false);
}

/** Asks the modes which gradients they want of a pass. @internal */
export function askModes(session: Session, pass: GradientsPass): void {
  const { modes } = session;
  pass.wanted = { sharesOnes: isWanted(modes, "sharesOnes"), fasterGradients: fasterGradientsOf(modes) };
  if (pass.wanted.fasterGradients !== undefined) replaceKernels(session);
}

/**
 * Asks the modes again which gradients they want of the pass that runs, whether it is pruned, and who dozes: one has learned of the pass more than it knew when that began. What
 * was done for the ops that are over stays.
 *
 * @internal
 */
export function reconsiderPass(): void {
  const session = openSession();
  if (session === undefined) return;
  session.modes.askWhoDozes();
  const prunes = isWanted(session.modes, "prunesSaved");
  for (let { pass } = session; pass !== undefined; pass = pass.around) {
    askModes(session, pass);
    if (!prunes) pass.prunedTape = undefined;
  }
}
