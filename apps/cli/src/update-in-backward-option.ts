import { type OptionValues, option } from "./command.js";
import { UsageError } from "./usage-error.js";

/** For commands that run steps with `--early-release`. */
export const updateInBackwardOption = option("--update-in-backward", {
  group: "rare",
  access: "data",
  purpose: "With --early-release: update each weight as soon as its gradient is final. Applies to minimize and fit",
});

/** For commands that predict early release. */
export const predictedUpdateOption = option("--update-in-backward", {
  group: "rare",
  access: "data",
  purpose: "Predict early release in which each weight is updated as soon as its gradient is final",
});

/**
 * Returns whether weights are updated in the backward pass. This requires `--early-release`, because plans and budgets
 * update weights after the backward pass.
 *
 * @throws UsageError if `--early-release` is missing
 */
export function updatesInBackward({
  updateInBackward,
  earlyRelease,
}: OptionValues<readonly [typeof updateInBackwardOption]> & { readonly earlyRelease: boolean }): boolean {
  if (updateInBackward && !earlyRelease)
    throw new UsageError("--update-in-backward works only with --early-release. Add --early-release, or remove it.");
  return updateInBackward;
}
