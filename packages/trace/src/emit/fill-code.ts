/** The kind of place at a position in source code. */
export type CodePlace = "code" | "comment" | "string";

/** Scans a text piece by piece and reports the kind of place at its end. */
export interface CodeScanner {
  place(): CodePlace;
  read(text: string): void;
}

/**
 * Fills a template with fragments of code. A fragment must not be inside a string or a comment. If a fragment ends in a
 * comment, a line end must follow it.
 *
 * @throws TypeError if one of remat's own templates puts a fragment anywhere else
 */
export function fillCode(
  language: string,
  scanner: CodeScanner,
  strings: readonly string[],
  fragments: readonly string[],
): string {
  let code = strings[0];
  scanner.read(strings[0]);
  fragments.forEach((fragment, i) => {
    if (scanner.place() !== "code")
      throw new TypeError(`a fragment of ${language} stands within a ${scanner.place()}: ${code.slice(-40)}`);
    const next = strings[i + 1];
    scanner.read(fragment);
    if (scanner.place() === "string") throw new TypeError(`a fragment of ${language} opens a string: ${fragment}`);
    const isLast = i === fragments.length - 1 && next === "";
    if (scanner.place() === "comment" && !isLast && !next.startsWith("\n"))
      throw new TypeError(`a comment of ${language} is not at the end of its line: ${fragment}${next}`);
    code += fragment + next;
    scanner.read(next);
  });
  if (scanner.place() === "string") throw new TypeError(`a template of ${language} leaves a string open: ${code}`);
  return code;
}
