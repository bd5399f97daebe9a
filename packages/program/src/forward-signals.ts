import type { ChildProcess } from "node:child_process";

/** Signals that ask a process to end or to react. Others cannot be caught, or are meant for this process alone. */
const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** Signals that a terminal sends to all foreground processes. The child already receives them. */
const ofTerminal: ReadonlySet<string> = new Set(["SIGINT", "SIGQUIT"]);

/**
 * Forwards signals to a child until the returned function is called. The child's end then determines this process's
 * end.
 *
 * @internal
 */
export function forwardSignals(child: ChildProcess, isTerminal: boolean = process.stdin.isTTY): () => void {
  const listeners = forwarded.map((signal) => {
    const listener = () => {
      if (!(isTerminal && ofTerminal.has(signal))) child.kill(signal);
    };
    process.on(signal, listener);
    return [signal, listener] as const;
  });
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}
