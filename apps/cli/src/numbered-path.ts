import { isStandardOutput } from "@remat/trace/files";

/** Returns the file of the trace `index` of `count`. */
export function numberedPath(output: string, index: number, count: number): string {
  if (count === 1) return output;
  return beforeEnd(output, `.${index + 1}`);
}

/**
 * Returns the file for the step in which a program ran out of memory, next to its traces: `train.failed.remat.jsonl`.
 */
export function failedPath(output: string): string {
  return isStandardOutput(output) ? output : beforeEnd(output, ".failed");
}

function beforeEnd(output: string, what: string): string {
  const [, stem, end] = /^(.*?)((?:\.remat)?\.(?:jsonl?|arrow)(?:\.gz)?|)$/.exec(output) as unknown as [
    string,
    string,
    string,
  ];
  return `${stem}${what}${end}`;
}

/** Returns the default file of a plan. For one of several traces of a program, it contains the trace's number. */
export function planFileOf(target: string): string {
  const number = /\.(\d+)(?:\.remat)?(?:\.(?:jsonl?|arrow)(?:\.gz)?)?$/.exec(target)?.[1];
  return number === undefined ? "plan.json" : `plan.${number}.json`;
}
