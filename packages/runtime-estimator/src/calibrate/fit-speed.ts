import type { KernelSpeed } from "@remat/trace";
import { bytesByReach, type KernelRates, kernelMs } from "../calibrated/calibrated-ms.js";
import { nonNegativeLeastSquares } from "./non-negative-least-squares.js";

/** One distinct call with its cost and its measured time. */
export interface MeasuredCall {
  readonly flops: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Milliseconds of the kernel. */
  readonly ms: number;
}

/** Fewest calls from which a speed can be fitted. With fewer, a general speed is more accurate. */
const fewestCalls = 3;

/** Rounds of reweighing. The weights no longer change after a few. */
const rounds = 8;

/**
 * Fits the speed of a kernel to measured calls: launch, bytes within and beyond the cache, and FLOPs. Relative errors
 * count equally for all sizes, because the squares are weighted by the predicted time (iteratively reweighted least
 * squares, McCullagh and Nelder, Generalized Linear Models, chapter 8). Weights by the measured time would favour calls
 * that were measured too fast, and make every prediction too short.
 *
 * Undefined if there are fewer than three calls.
 *
 * @internal
 */
export function fitSpeed(calls: readonly MeasuredCall[], cacheBytes: number): KernelSpeed | undefined {
  if (calls.length < fewestCalls) return undefined;
  const rates = fitRates(calls, cacheBytes);
  return { ...rates, error: median(unseenErrors(calls, cacheBytes)), calls: calls.length };
}

/** Relative errors of calls by fits to the others: each call is left out once, alone or as one of every ten. */
function unseenErrors(calls: readonly MeasuredCall[], cacheBytes: number): readonly number[] {
  const folds = Math.min(calls.length, 10);
  return Array.from({ length: folds }, (_, fold) => {
    const rates = fitRates(
      calls.filter((_, at) => at % folds !== fold),
      cacheBytes,
    );
    const left = calls.filter((_, at) => at % folds === fold);
    return left.map((call) => Math.abs(kernelMs(rates, call, cacheBytes) / call.ms - 1));
  }).flat();
}

function fitRates(calls: readonly MeasuredCall[], cacheBytes: number): KernelRates {
  const rows = calls.map((call) => [1, ...bytesByReach(call, cacheBytes), call.flops]);
  let expected = calls.map(({ ms }) => ms);
  let solution: readonly number[] = [];
  for (let round = 0; round < rounds; round++) {
    const weights = expected;
    solution = nonNegativeLeastSquares(
      rows.map((row, at) => row.map((value) => value / weights[at])),
      calls.map(({ ms }, at) => ms / weights[at]),
    );
    // The limit keeps a call with a prediction near 0 from outweighing all others.
    expected = rows.map((row, at) =>
      Math.max(
        row.reduce((sum, value, i) => sum + value * solution[i], 0),
        calls[at].ms / 5,
      ),
    );
  }
  const [launchMs, nearMs, beyondMs, flopMs] = solution;
  return {
    launchUs: launchMs * 1e3,
    ...(nearMs > 0 && { memoryGBps: 1e-6 / nearMs }),
    ...(beyondMs > 0 && { beyondCacheGBps: 1e-6 / beyondMs }),
    ...(flopMs > 0 && { tflops: 1e-9 / flopMs }),
  };
}

/** @internal */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
