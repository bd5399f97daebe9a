import { writeSync } from "node:fs";
import { isClosedPipe } from "./console-io.js";

/**
 * Reports the reason and fails if the process ends before the command is done. A model's code may end the process, or
 * leave it waiting for an event that never comes. Returns a function to call when the command is done.
 */
export function reportEarlyEnd(): () => void {
  // Distinguishes a process with nothing left to run from a call of process.exit().
  let isIdle = false;
  const idle = (): void => {
    isIdle = true;
  };
  const tell = (code: number): void => {
    process.exitCode = code === 0 || isIdle ? 1 : code;
    writeLastWords(
      isIdle
        ? "remat: the model waits for a promise that never settles. Settle every promise in its code.\n"
        : `remat: the model's code ended the process (exit code ${code}), so there is no answer. Remove process.exit() from it.\n`,
    );
  };
  process.once("beforeExit", idle);
  process.once("exit", tell);
  return () => {
    process.off("beforeExit", idle);
    process.off("exit", tell);
  };
}

/**
 * Reports in one line and calls `end` if output cannot be written (a full disk). A reader that closes the pipe early is
 * not a failure.
 */
export function reportFullOutput(stream: NodeJS.EventEmitter, end: () => void): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (isClosedPipe(error)) return;
    writeLastWords(
      `remat: standard output cannot be written (${error.message}). Free some disk space, or send the output to another file.\n`,
    );
    end();
  });
}

/** Writes to standard error synchronously before the process ends. Fails silently if its reader has closed it. */
function writeLastWords(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // The exit code still reports the failure.
  }
}
