import { replaceKernels } from "./gradients/replace-kernels.js";
import { fasterGradientsOf } from "./gradients/wanted-gradients.js";
import type { GradientsPass } from "./gradients-pass.js";
import type { ModeStack } from "./mode-stack.js";
import { openSession } from "./open-session.js";
import type { Session } from "./session.js";

/** Returns whether one of the modes around the running code sets this flag. @internal */
export function isWanted(
  modes: ModeStack,
  flag: "releasesEarly" | "prunesSaved" | "sharesOnes" | "sharesSaved",
): boolean {
  return modes.listeners(flag).some((open) => open.mode[flag] && modes.isInside(open));
}

/** Returns whether one of the modes requests weight updates in the backward pass, and none forbids it. @internal */
export function wantsUpdateInBackward(modes: ModeStack): boolean {
  const wishes = modes.listeners("updatesInBackward").filter((open) => modes.isInside(open));
  return wishes.length > 0 && wishes.every((open) => open.mode.updatesInBackward !== false);
}

/** Asks the modes which gradients to use in a pass. @internal */
export function askModes(session: Session, pass: GradientsPass): void {
  const { modes } = session;
  pass.wanted = { sharesOnes: isWanted(modes, "sharesOnes"), fasterGradients: fasterGradientsOf(modes) };
  if (pass.wanted.fasterGradients !== undefined) replaceKernels(session);
}

/**
 * Asks the modes again which gradients to use in the running pass, whether to prune it, and which modes doze. A mode
 * calls it when it learns more about the pass. Ops that are over are not affected.
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
