/**
 * The deepest nesting of lists and objects that is read. Real files have fewer than a hundred levels, and recursive
 * code fails at a few thousand.
 */
export const mostLevels = 1000;

/**
 * Parses the JSON text of a file. Accepts the byte order mark that editors on Windows write.
 *
 * @throws SyntaxError with the place where the text stops being JSON ("at line 3, column 5"), or if lists and objects
 * are nested more than 1,000 levels deep
 */
export function parseJsonText(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`its lists and objects are nested more than ${mostLevels} levels deep`);
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new SyntaxError(whereOf(text, cause.message), { cause });
  }
}

/**
 * Returns whether lists and objects of a JSON text are nested more than {@link mostLevels} deep. Unbalanced brackets
 * are left to the parser. @internal
 */
export function isTooDeep(text: string): boolean {
  // Each level takes at least two characters.
  if (text.length <= 2 * mostLevels) return false;
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      at = endOfString(text, at);
      continue;
    }
    if (character === openBracket || character === openBrace) {
      if (++level > mostLevels) return true;
    } else if (character === closeBracket || character === closeBrace) level--;
  }
  return false;
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Returns the end of the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

/** Returns the place of a syntax error. Engines report it as a position in the text, or as a line and a column. */
function whereOf(text: string, message: string): string {
  if (text.trim() === "") return "it is empty";
  const [, lineSaid, columnSaid] = /line (\d{1,15}) column (\d{1,15})/.exec(message) ?? [];
  if (lineSaid !== undefined) return `at line ${lineSaid}, column ${columnSaid}`;
  const [, position] = /position (\d{1,15})/.exec(message) ?? [];
  if (position === undefined) return /end/.test(message) ? "it breaks off" : "at its beginning";
  const before = text.slice(0, Number(position));
  const lastBreak = before.lastIndexOf("\n");
  let line = 1;
  for (let at = before.indexOf("\n"); at >= 0; at = before.indexOf("\n", at + 1)) line++;
  return `at line ${line}, column ${before.length - lastBreak}`;
}
