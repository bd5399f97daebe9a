import { displaySafe, writeOut } from "@remat/trace/text";

const eachBeyondAscii = /[^\x20-\x7e]/gu;

/** ASCII equivalents of characters that the app uses. */
const asciiOf: Readonly<Record<string, string>> = { µ: "u", "…": "~", "–": "-", "×": "x", "·": "-", "→": "->" };

/** Escapes everything in `text` that a terminal might interpret. With `isAscii` everything outside ASCII as well. */
export function showControls(text: string, isAscii = false): string {
  return isAscii ? text.replace(eachBeyondAscii, (c) => asciiOf[c] ?? writeOut(c)) : displaySafe(text);
}
