/** Indents a source by its brackets, one statement per line. */
export function indented(source: string): string {
  let depth = 0;
  return source
    .split("\n")
    .map((line) => {
      const opened = line.match(/[([{]/g)?.length ?? 0;
      const closed = line.match(/[)\]}]/g)?.length ?? 0;
      const startsClosed = /^[)\]}]/.test(line) ? 1 : 0;
      const text = `${"  ".repeat(Math.max(0, depth - startsClosed))}${line}`;
      depth += Math.sign(opened - closed);
      return text;
    })
    .join("\n");
}
