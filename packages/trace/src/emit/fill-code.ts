/** Where a position in source code lies. */
export type CodePlace = "code" | "comment" | "string";

/** Finds where the end of a text lies, which a scanner reads piece by piece. */
export interface CodeScanner {
  place(): CodePlace;
  read(text: string): void;
}

/**
 * Returns a template filled with fragments of code. A fragment may stand only where code stands, and nothing but a line end follows one that ends in a comment.
 *
 * @throws TypeError for a template of ours that puts a fragment anywhere else
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
