import type { ChildProcess } from "node:child_process";

/** What asks a process to end or to look up; others cannot be caught, or mean this process alone. */
const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** What a terminal sends to all processes in the foreground: the child has it already. */
const ofTerminal: ReadonlySet<string> = new Set(["SIGINT", "SIGQUIT"]);

/**
 * Passes signals on to a child, whose end then decides ours, until the returned function is called.
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
