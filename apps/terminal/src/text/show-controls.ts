import { displaySafe, writeOut } from "@remat/trace/text";

const eachBeyondAscii = /[^\x20-\x7e]/gu;

/** Characters of ours that have a counterpart in ASCII. */
const asciiOf: Readonly<Record<string, string>> = { µ: "u", "…": "~", "–": "-", "×": "x", "·": "-", "→": "->" };

/** Returns `text` with everything that a terminal might obey written out; with `isAscii` whatever is not ASCII as well. */
export function showControls(text: string, isAscii = false): string {
  return isAscii ? text.replace(eachBeyondAscii, (c) => asciiOf[c] ?? writeOut(c)) : displaySafe(text);
}
