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
  return backend !== undefined && oneThread.has(backend) ? cpuClock() : wallClock;
}

const wallClock: StepClock = () => performance.now();

/**
 * Returns the clock of the CPU time of all threads of this process, or of wall time in browsers. The time of one op is
 * the shorter of wall and CPU time: CPU time excludes other programs, and wall time counts parallel threads once.
 */
export function cpuClock(): StepClock {
  const { process } = globalThis as {
    readonly process?: { cpuUsage?(): { readonly user: number; readonly system: number } };
  };
  if (typeof process?.cpuUsage !== "function") return wallClock;
  const { cpuUsage } = process;
  return () => {
    const { user, system } = cpuUsage.call(process);
    return (user + system) / 1000;
  };
}
