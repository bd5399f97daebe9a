import type { ConsoleIo } from "../console-io.js";

/** Exit code of a command that Ctrl-C ended before it was complete. */
export const interruptedCode = 130;

/**
 * Runs `search` with a signal that Ctrl-C aborts, so that the result is the best found so far. Also returns whether it
 * was aborted.
 */
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
