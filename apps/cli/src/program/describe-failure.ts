import type { ProgramFailure } from "@remat/program";
import { formatBytes } from "@remat/reporting";
import { type Facts } from "@remat/reporting/verdict";
import { shell } from "@remat/trace/emit";

/**
 * Explains why a thread ran out of memory in code that was not being recorded: where that happened, how much memory was
 * in use, whether memory had grown, and how to see more. If it failed while the first `recorded` steps were recorded,
 * it failed outside of any step, so recording again would not show more.
 */
export function describeFailure(
  { message = "", line, askedBytes, heldBytes, stepsBefore = 0, bytesPerStep, program = [] }: ProgramFailure,
  recorded = 0,
): Facts {
  const isLeak = bytesPerStep !== undefined && bytesPerStep > 0;
  const steps = `${stepsBefore} ${stepsBefore === 1 ? "step" : "steps"}`;
  const growth =
    bytesPerStep === undefined
      ? `${steps} ran before it.`
      : isLeak
        ? `This is a leak: memory in use between steps grew by ${formatBytes(bytesPerStep)} per step over ${steps}.`
        : `Memory in use between steps did not grow over ${steps}.`;
  const options = isLeak ? ["leaks"] : ["record", "--steps", String(stepsBefore + 1)];
  const command = shell.words(["remat", ...options, "--", ...program]);
  const end = `Out of memory${line === undefined ? "" : ` at ${line}`}${askedBytes === undefined ? "" : `, allocating ${formatBytes(askedBytes)}`}: ${message}`;
  if (!isLeak && stepsBefore < recorded)
    return {
      facts: [
        end,
        stepsBefore === 0 ? "No training step had run." : `No training step was running, after ${steps}.`,
        "Create the data in smaller parts, for example one batch at a time.",
      ],
    };
  return {
    facts: [
      end,
      `${formatBytes(heldBytes)} was in use when the last step began.`,
      growth,
      isLeak ? "To find the lines that leak:" : "To record the step that fails:",
      command,
    ],
    command,
  };
}
