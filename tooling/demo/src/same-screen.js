/** Numbers that depend on how far a search came in its time. */
const number = /\d[\d.,]*/g;

/**
 * Compares two pictures of a screen, apart from numbers and the space around them.
 *
 * @param {Buffer} committed
 * @param {Buffer} drawn
 * @returns {string | undefined} the first line that differs
 */
export function sameScreen(committed, drawn) {
  const [before, after] = [linesOf(committed), linesOf(drawn)];
  const at = before.findIndex((line, i) => line !== after[i]);
  if (at < 0 && before.length === after.length) return undefined;
  const line = at < 0 ? before.length : at;
  return `line ${line + 1} was "${before[line] ?? ""}" and is "${after[line] ?? ""}"`;
}

/** @type {(picture: Buffer) => readonly string[]} */
function linesOf(picture) {
  /** @type {Map<string, string>} */
  const byLine = new Map();
  for (const [, y, text] of picture.toString("utf8").matchAll(/<text x="[^"]*" y="([^"]*)"[^>]*>(.*?)<\/text>/gs))
    byLine.set(y, `${byLine.get(y) ?? ""} ${text}`);
  return [...byLine.values()].map((line) => line.replaceAll(number, "0").replaceAll(/\s+/g, " ").trim());
}
