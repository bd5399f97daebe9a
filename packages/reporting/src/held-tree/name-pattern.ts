/**
 * Returns one name for modules whose names differ only in numbers. `*` stands for a number that differs between them.
 * Redundant parts are left out: the outermost module, and a module whose name is a prefix of the next module's name.
 *
 * @param root fully qualified name of the outermost module, or empty if none exists
 * @example
 * namePattern(["net.conv2.conv2_bn", "net.conv3.conv3_bn"], "net"); // "conv*_bn"
 */
export function namePattern(fqns: readonly string[], root: string): string {
  const [first, ...others] = fqns.map((fqn) => shortName(fqn, root).split(/(\d+)/));
  return first.map((part, i) => (others.every((other) => other[i] === part) ? part : "*")).join("");
}

/** Kind of a module that is not an object of a class: a traced function. */
const noClass = "Scope";

/**
 * Describes the number of modules, with their class if they share one.
 *
 * @internal
 */
export function countModules(count: number, kind: string | undefined): string {
  return `${count} ${kind === undefined || kind === noClass ? "modules" : kind}`;
}

function shortName(fqn: string, root: string): string {
  const within = root !== "" && fqn.startsWith(`${root}.`) ? fqn.slice(root.length + 1) : fqn;
  const parts = within.split(".");
  return parts.filter((part, i) => part === "" || i === parts.length - 1 || !parts[i + 1].startsWith(part)).join(".");
}
