/**
 * Parses JSON as files hold it: with a byte order mark before it, too, as editors on Windows write one.
 *
 * @throws SyntaxError that says where the text stops being JSON: "line 3, column 5"
 */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new SyntaxError(whereOf(text, cause.message), { cause });
  }
}

/** Engines say where they stopped by a position in the text, or by the line and column. */
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
