/**
 * What a terminal would obey instead of showing (control characters, C1 included), what turns text around or hides in it (format characters),
 * line ends of Unicode, and halves of characters.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const eachUnsafe = new RegExp(unsafe.source, "gu");
const eachBeyondAscii = /[^\x20-\x7e]/gu;

/** Characters of ours that have a counterpart in ASCII. */
const asciiOf: Readonly<Record<string, string>> = { µ: "u", "…": "~", "–": "-", "×": "x", "·": "-", "→": "->" };

/**
 * `text` with everything that a terminal might obey written out: escape becomes `\x1b`, a mark that reverses text `\u{202e}`. With `isAscii`
 * whatever is not ASCII is written out as well.
 */
export function showControls(text: string, isAscii = false): string {
  if (isAscii) return text.replace(eachBeyondAscii, (c) => asciiOf[c] ?? writtenOut(c));
  return unsafe.test(text) ? text.replace(eachUnsafe, writtenOut) : text;
}

function writtenOut(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
