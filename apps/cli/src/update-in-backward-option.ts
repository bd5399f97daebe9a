import type { CommandOption, CommandOptions } from "./command.js";
import { UsageError } from "./usage-error.js";

/** Of a command that takes steps with `--early-release`. */
export const updateInBackwardOption: CommandOption = {
  flags: "--update-in-backward",
  access: "data",
  purpose: "With --early-release: each weight is updated as soon as its gradient is final, in minimize and fit",
};

/** Of a command that tells what early release would hold. */
export const predictedUpdateOption: CommandOption = {
  flags: "--update-in-backward",
  access: "data",
  purpose: "Tell what early release holds where each weight is updated as soon as its gradient is final",
};

/**
 * Parses the option, which is one of `--early-release`: plans and budgets update weights after the backward pass.
 *
 * @throws UsageError where that is not given
 */
export function parseUpdateInBackward(options: CommandOptions): boolean {
  const isAsked = options["updateInBackward"] === true;
  if (isAsked && options["earlyRelease"] !== true)
    throw new UsageError(
      "--update-in-backward is for --early-release: after a plan and within a budget weights are updated after the backward pass. Give both, or leave it out.",
    );
  return isAsked;
}
