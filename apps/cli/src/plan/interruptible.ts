import type { ConsoleIo } from "../console-io.js";

/** What a shell has of a command that Ctrl-C ended, which left out some of what was asked for. */
export const interruptedCode = 130;

/** Runs `search` with a signal that Ctrl-C aborts, so that the best found so far is the answer; says whether it did. */
export async function interruptible<T>(
  io: ConsoleIo,
  search: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly found: T; readonly isInterrupted: boolean }> {
  const abort = new AbortController();
  const undo = io.onInterrupt?.(() => abort.abort());
  try {
    return { found: await search(abort.signal), isInterrupted: abort.signal.aborted };
  } finally {
    undo?.();
  }
}
