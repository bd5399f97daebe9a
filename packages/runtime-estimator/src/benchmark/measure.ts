/** Measured time of one call. */
export interface Measurement {
  /** Median time in milliseconds. */
  readonly medianMs: number;
  /** Half the interquartile range, in milliseconds. */
  readonly spreadMs: number;
  /** Number of samples. */
  readonly runs: number;
}

export interface MeasureOptions {
  readonly warmUpRuns: number;
  readonly minRuns: number;
  readonly maxRuns: number;
  readonly budgetMs: number;
  /** Maximum number of calls in one sample. Calls too short for the clock are repeated. */
  readonly maxRepeats: number;
  readonly signal?: AbortSignal | undefined;
}

/** Runs a call `repeats` times and returns the total time in milliseconds. */
export type Sample = (repeats: number) => number | Promise<number>;

/** Minimum length of a sample. A shorter sample measures the clock instead of the call. */
const shortestSampleMs = 0.1;

/** Warms up, then takes samples until `maxRuns`, or until the budget is spent after at least `minRuns`. @internal */
export async function measure(sample: Sample, options: MeasureOptions): Promise<Measurement> {
  const { warmUpRuns, minRuns, maxRuns, budgetMs, maxRepeats, signal } = options;
  let onceMs = Number.POSITIVE_INFINITY;
  let spentMs = 0;
  const take = async (repeats: number) => {
    signal?.throwIfAborted();
    const ms = await sample(repeats);
    spentMs += ms;
    return ms / repeats;
  };
  for (let i = 0; i < Math.max(1, warmUpRuns); i++) onceMs = Math.min(onceMs, await take(1));
  const repeats = Math.max(1, Math.min(maxRepeats, Math.ceil(shortestSampleMs / Math.max(onceMs, 1e-6))));
  const samples: number[] = [];
  while (samples.length < maxRuns && (samples.length < minRuns || spentMs < budgetMs))
    samples.push(await take(repeats));
  samples.sort((a, b) => a - b);
  return {
    medianMs: quantile(samples, 0.5),
    spreadMs: (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2,
    runs: samples.length,
  };
}

/** Returns a quantile, interpolated between the two nearest sorted values. */
function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}
