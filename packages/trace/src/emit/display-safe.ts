/**
 * Characters that must not reach a terminal unescaped: control characters (C1 included), format characters that reverse
 * or hide text, Unicode line ends, and lone surrogates.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const eachUnsafe = new RegExp(unsafe.source, "gu");

/**
 * Escapes every character of `text` that a terminal might act on, including line ends and tabs. Escape becomes `\x1b`,
 * and a mark that reverses text becomes `\u{202e}`.
 *
 * @example
 * displaySafe("layer\x1b[2J"); // "layer\\x1b[2J"
 */
export function displaySafe(text: string): string {
  return unsafe.test(text) ? text.replace(eachUnsafe, writeOut) : text;
}

/**
 * Escapes `text` like {@link displaySafe}, but keeps line feeds and tabs. For HTML, where both are white space.
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
 * Returns the escape sequence that {@link displaySafe} writes for a character.
 *
 * @example
 * writeOut("\x1b"); // "\\x1b"
 */
export function writeOut(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
