import { isDeepStrictEqual } from "node:util";
import type { Outcome } from "../../../../packages/checkpoint/test/users/ways.js";

const longest = 300;

/**
 * Returns the first difference between two outcomes of one program, or undefined. After a failed pass unmodified tfjs
 * leaves saved tensors and its tape, so less may be left.
 */
export function firstDifference(expected: Outcome, found: Outcome): string | undefined {
  for (let i = 0; i < Math.max(expected.seen.length, found.seen.length); i++) {
    const [before, after] = [expected.seen.at(i), found.seen.at(i)];
    if (!isDeepStrictEqual(before, after)) return `expected ${shown(before)}, found ${shown(after)}`;
  }
  const mayBeLess = expected.seen.some(([name]) => name === "error");
  const isAsExpected = Object.entries(expected.left).every(
    ([name, count]) =>
      found.left[name] === count ||
      (mayBeLess && found.left[name] < count && (found.left[name] >= 0 || name === "tape")),
  );
  if (isAsExpected) return undefined;
  return `expected ${shown(expected.left)} to be left, found ${shown(found.left)}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
