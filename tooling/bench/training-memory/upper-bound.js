/** One-sided 95% quantiles of Student's t distribution by degrees of freedom. */
const quantiles = [
  6.314, 2.92, 2.353, 2.132, 2.015, 1.943, 1.895, 1.86, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753,
];

/** Geometric mean of `ratios`, and its upper bound with a confidence of 95%. */
export function ratioWithUpperBound(ratios) {
  const logs = ratios.map(Math.log);
  const n = logs.length;
  const mean = logs.reduce((sum, log) => sum + log, 0) / n;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (n - 1);
  const t = quantiles[n - 2] ?? 1.645 + 1.6 / (n - 1);
  return { ratio: Math.exp(mean), upperBound: Math.exp(mean + t * Math.sqrt(variance / n)) };
}
