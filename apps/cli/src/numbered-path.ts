/** Returns the file of the trace `index` of `count`. */
export function numberedPath(output: string, index: number, count: number): string {
  if (count === 1) return output;
  const [, stem, end] = /^(.*?)((?:\.remat)?\.jsonl?(?:\.gz)?|)$/.exec(output) as unknown as [string, string, string];
  return `${stem}.${index + 1}${end}`;
}

/** Returns where a plan goes if nothing is said of it: beside those of other traces of one program, of which each has its number. */
export function planFileOf(target: string): string {
  const number = /\.(\d+)(?:\.remat)?(?:\.jsonl?(?:\.gz)?)?$/.exec(target)?.[1];
  return number === undefined ? "plan.json" : `plan.${number}.json`;
}
