import { digestOf } from "./text-digest.js";

const digests = new WeakMap<object, string>();

/**
 * Returns whether a function has this digest, ignoring differences between the bundles of TensorFlow.js. A function
 * that the user has registered in its place has another digest.
 *
 * @internal
 */
export const isFunctionOfTfjs = (fn: object, digest: string): boolean => functionDigest(fn) === digest;

/** Returns the digest of a function's source text. @internal */
export function functionDigest(fn: object): string {
  let digest = digests.get(fn);
  if (digest === undefined) {
    const text = String(fn)
      .replace(/\s+/g, "")
      .replace(/\butil(_exports)?\d*\./g, "")
      .replace(/'/g, '"')
      // A number after a name, or after the first digit of a number.
      .replace(/(?:(?<=\w)\$|(?<=[A-Za-z_])|(?<=(?<!\w)\d))\d+\(/g, "(");
    digest = digestOf(text);
    digests.set(fn, digest);
  }
  return digest;
}
