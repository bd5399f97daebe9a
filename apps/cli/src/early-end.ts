import { writeSync } from "node:fs";
import { isClosedPipe } from "./console-io.js";

/**
 * Has the process say why it ends before the command is over, and fail: a model's code may end it, or leave it waiting for what never comes. Returns
 * what is to be called when the command is over.
 */
export function tellEarlyEnd(): () => void {
  // Told where nothing is left to run, and not by process.exit().
  let isIdle = false;
  const idle = (): void => {
    isIdle = true;
  };
  const tell = (code: number): void => {
    process.exitCode = code === 0 || isIdle ? 1 : code;
    writeLastWords(
      isIdle
        ? "remat: the model waits for something that never comes. See that every promise in its code is settled.\n"
        : `remat: the model's code ended the process (exit code ${code}), so there is no answer. Take process.exit() out of it.\n`,
    );
  };
  process.once("beforeExit", idle);
  process.once("exit", tell);
  return () => {
    process.off("beforeExit", idle);
    process.off("exit", tell);
  };
}

/** Tells in one line, and then calls `end`, where what it prints cannot be written (a full disk); a reader that closes the pipe early is no failure. */
export function tellFullOutput(stream: NodeJS.EventEmitter, end: () => void): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (isClosedPipe(error)) return;
    writeLastWords(
      `remat: standard output cannot be written (${error.message}). Free some disk space, or send the output to another file.\n`,
    );
    end();
  });
}

/** Writes to standard error before the process ends. If its reader has left, there is nobody to tell. */
function writeLastWords(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // The exit code still says that the command failed.
  }
}
