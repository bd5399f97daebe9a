/**
 * Returns those of `names` that are closest to `name`, for "did you mean" messages. The distance is the number of
 * characters to insert, remove, replace or swap with the next one. Names at equal distance keep the given order.
 *
 * @param most the largest number of names to return
 * @example
 * nearestNames("layer.0", ["embed", "layers.0", "layers.1"], 1); // ["layers.0"]
 */
export function nearestNames(name: string, names: readonly string[], most = 3): readonly string[] {
  return names
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, Math.max(name.length, candidate.length) / 2))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/** The optimal string alignment distance. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length];
}
