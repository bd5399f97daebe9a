/**
 * Returns one name for modules whose names differ by their numbers only: `*` for a number that is not the same in all. What goes without saying is left out: the
 * model around all modules, and a module around another whose own name begins with its name.
 *
 * @param root fully qualified name of the module around all; empty for none
 * @example
 * namePattern(["net.conv2.conv2_bn", "net.conv3.conv3_bn"], "net"); // "conv*_bn"
 */
export function namePattern(fqns: readonly string[], root: string): string {
  const [first, ...others] = fqns.map((fqn) => shortName(fqn, root).split(/(\d+)/));
  return first.map((part, i) => (others.every((other) => other[i] === part) ? part : "*")).join("");
}

/** What a module is called that is no object of a class: a function that was traced. */
const noClass = "Scope";

/** Returns how many modules there are, by their class where they have one and the same. @internal */
export function countModules(count: number, kind: string | undefined): string {
  return `${count} ${kind === undefined || kind === noClass ? "modules" : kind}`;
}

function shortName(fqn: string, root: string): string {
  const within = root !== "" && fqn.startsWith(`${root}.`) ? fqn.slice(root.length + 1) : fqn;
  const parts = within.split(".");
  return parts.filter((part, i) => part === "" || i === parts.length - 1 || !parts[i + 1].startsWith(part)).join(".");
}
