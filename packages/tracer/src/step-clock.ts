/** Milliseconds since some moment in the past. */
export type StepClock = () => number;

/** Backends whose kernels run on the thread that calls them, so that the CPU time of the process is what a step takes. */
const oneThread: ReadonlySet<string> = new Set(["cpu", "wasm"]);

/**
 * Returns the clock that steps of a backend are compared by. On a machine that other programs use, too, wall time also counts the time in which they run, so CPU time is used if the kernels of the backend
 * run on one thread. Native kernels run on many threads, and a GPU is not in the CPU time at all: there it is wall time, as in a browser.
 *
 * @internal
 */
export function stepClock(backend: string | undefined): StepClock {
  const { process } = globalThis as {
    readonly process?: { cpuUsage?(): { readonly user: number; readonly system: number } };
  };
  if (backend === undefined || !oneThread.has(backend) || typeof process?.cpuUsage !== "function")
    return () => performance.now();
  const { cpuUsage } = process;
  return () => {
    const { user, system } = cpuUsage.call(process);
    return (user + system) / 1000;
  };
}
