/** Writes a text as a JavaScript literal. Several lines become a template literal. */
export function quoted(text: string): string {
  return text.includes("\n") ? `\`${text.replaceAll(/[\\`]|\$\{/g, "\\$&")}\`` : JSON.stringify(text);
}

const longestTitle = 80;

/** Writes the title of a test that reproduces a problem. */
export function titleOf(what: string): string {
  const [line] = what.split("\n");
  return quoted(line.length > longestTitle ? `${line.slice(0, longestTitle)}…` : line);
}
