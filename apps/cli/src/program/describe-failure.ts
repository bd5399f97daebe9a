import type { ProgramFailure } from "@remat/program";
import { type Facts, formatBytes } from "@remat/reporting";
import { shell } from "@remat/trace/emit";

/** Returns why a thread had no memory left in what was not being recorded: where, what it held, whether that had grown, and how to see more. */
export function describeFailure({
  message = "",
  line,
  askedBytes,
  heldBytes,
  stepsBefore = 0,
  bytesPerStep,
  program = [],
}: ProgramFailure): Facts {
  const isLeak = bytesPerStep !== undefined && bytesPerStep > 0;
  const steps = `${stepsBefore} ${stepsBefore === 1 ? "step" : "steps"}`;
  const growth =
    bytesPerStep === undefined
      ? `${steps} before it`
      : isLeak
        ? `a leak: what is held between steps grew by ${formatBytes(bytesPerStep)} with each of ${steps}`
        : `what is held between steps has not grown in ${steps}`;
  const options = isLeak ? ["leaks"] : ["record", "--steps", String(stepsBefore + 1)];
  const command = shell.words(["remat", ...options, "--", ...program]);
  return {
    facts: [
      `out of memory${line === undefined ? "" : ` at ${line}`}${askedBytes === undefined ? "" : `, asking for ${formatBytes(askedBytes)}`}: ${message}`,
      `${formatBytes(heldBytes)} held as the last step began`,
      growth,
      command,
    ],
    command,
  };
}
