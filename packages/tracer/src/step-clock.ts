/** Returns milliseconds since a fixed moment. */
export type StepClock = () => number;

/** Backends whose kernels run on the calling thread, so that CPU time is the time of a step. */
const oneThread: ReadonlySet<string> = new Set(["cpu", "wasm"]);

/**
 * Returns the clock for steps of a backend. On a shared machine wall time includes other programs, so CPU time is used
 * if kernels run on one thread. Native kernels run on many threads, and CPU time does not include a GPU. For native
 * kernels and GPUs, and in browsers, the clock measures wall time.
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
