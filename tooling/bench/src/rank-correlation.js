/** Spearman's rank correlation of two columns. Equal values share the mean of their ranks. */
export function rankCorrelation(left, right) {
  const [a, b] = [ranksOf(left), ranksOf(right)];
  const mean = (a.length - 1) / 2;
  let [products, lefts, rights] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    products += (a[i] - mean) * (b[i] - mean);
    lefts += (a[i] - mean) ** 2;
    rights += (b[i] - mean) ** 2;
  }
  return products / Math.sqrt(lefts * rights);
}

function ranksOf(values) {
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  const ranks = new Float64Array(values.length);
  for (let start = 0, end = 0; start < order.length; start = end) {
    while (end < order.length && values[order[end]] === values[order[start]]) end++;
    for (let at = start; at < end; at++) ranks[order[at]] = (start + end - 1) / 2;
  }
  return ranks;
}
