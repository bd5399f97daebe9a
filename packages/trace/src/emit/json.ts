import { asEmitted, type JsonText } from "./emitted.js";

/** What JSON leaves as it is and a terminal obeys or hides. It stands only within strings, where each has an escape. */
const unshown = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns a value as JSON that a terminal can show: the same value as `JSON.stringify` writes.
 *
 * @example
 * writeJson({ name: "\u202e" }); // {"name":"\\u202e"}
 */
export function writeJson(value: unknown, indent?: number): JsonText {
  const text = JSON.stringify(value, undefined, indent) ?? "null";
  return asEmitted(
    text.replace(unshown, (character) =>
      Array.from({ length: character.length }, (_, i) => escapeUnit(character.charCodeAt(i))).join(""),
    ),
  );
}

const escapeUnit = (code: number): string => `\\u${code.toString(16).padStart(4, "0")}`;
