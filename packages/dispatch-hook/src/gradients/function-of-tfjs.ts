import { digestOf } from "./text-digest.js";

const digests = new WeakMap<object, string>();

/**
 * Whether a function is the one of tfjs that has this digest: by its text, without what the bundles of tfjs differ in. One that a user has registered in place
 * of tfjs's is theirs.
 *
 * @internal
 */
export const isFunctionOfTfjs = (fn: object, digest: string): boolean => functionDigest(fn) === digest;

/** @internal */
export function functionDigest(fn: object): string {
  let digest = digests.get(fn);
  if (digest === undefined) {
    const text = String(fn)
      .replace(/\s+/g, "")
      .replace(/\butil(_exports)?\d*\./g, "")
      .replace(/'/g, '"')
      // A number behind a name, and behind the first digit of a number.
      .replace(/(?:(?<=\w)\$|(?<=[A-Za-z_])|(?<=(?<!\w)\d))\d+\(/g, "(");
    digest = digestOf(text);
    digests.set(fn, digest);
  }
  return digest;
}
