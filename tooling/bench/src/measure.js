/** CPU milliseconds that this process has used on all threads, which other work on the machine affects least. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Wall and CPU milliseconds of one call, which may be asynchronous, and its result. */
export async function timeOnce(work) {
  const cpu = cpuMs();
  const start = performance.now();
  const result = await work();
  return { wallMs: performance.now() - start, cpuMs: cpuMs() - cpu, result };
}

/**
 * Medians over `runs` calls after `warmups` uncounted calls. The JIT compiles hot code only after tens of calls, and
 * PyTorch's figures are also for warm calls.
 */
export async function timeWarm(work, { warmups = 2, runs = 5 } = {}) {
  for (let i = 0; i < warmups; i++) await work();
  const times = [];
  for (let i = 0; i < runs; i++) times.push(await timeOnce(work));
  return {
    runs,
    wallMs: median(times.map((time) => time.wallMs)),
    cpuMs: median(times.map((time) => time.cpuMs)),
    bestMs: Math.min(...times.map((time) => time.wallMs)),
    result: times[0].result,
  };
}

/** Highest resident memory of this process so far. */
export const peakResidentMiB = () => process.resourceUsage().maxRSS / 1024;
