/**
 * What a terminal would obey instead of showing (control characters, C1 included), what turns text around or hides in it (format characters),
 * line ends of Unicode, and halves of characters.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const eachUnsafe = new RegExp(unsafe.source, "gu");

/**
 * Returns `text` with everything written out that a terminal might obey, line ends and tabs included: escape becomes `\x1b`, a mark that reverses text `\u{202e}`.
 *
 * @example
 * displaySafe("layer\x1b[2J"); // "layer\\x1b[2J"
 */
export function displaySafe(text: string): string {
  return unsafe.test(text) ? text.replace(eachUnsafe, writeOut) : text;
}

/**
 * Returns `text` as {@link displaySafe} does, but keeps line feeds and tabs: for HTML, in which both are white space.
 *
 * @example
 * displaySafeLines("a\n\u202eb"); // "a\n\\u{202e}b"
 */
export function displaySafeLines(text: string): string {
  return unsafe.test(text) ? text.replace(/\r\n?/g, "\n").replace(eachUnsafe, writeOutInLines) : text;
}

const writeOutInLines = (character: string): string =>
  character === "\n" || character === "\t" ? character : writeOut(character);

/**
 * Returns a character by its code, as {@link displaySafe} writes it.
 *
 * @example
 * writeOut("\x1b"); // "\\x1b"
 */
export function writeOut(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
