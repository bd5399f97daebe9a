import { RematError } from "@remat/trace";

const listed = 8;

/**
 * Returns the modules of `names` that match patterns, with or without the root's name in front. `*` stands for a part
 * of one name, `**` for any part.
 *
 * @throws RematError `MODULE_PATTERN` for a pattern that matches nothing
 */
export function namedModules(patterns: readonly string[], names: readonly string[]): string[] {
  const found = patterns.flatMap((pattern) => {
    const regex = regexOf(pattern);
    const matching = names.filter((fqn) => fqn === pattern || regex.test(fqn));
    if (matching.length > 0) return matching;
    throw new RematError(
      "MODULE_PATTERN",
      `${JSON.stringify(pattern)} matches no module with statistics. Use one of ${names.slice(0, listed).join(", ")}${names.length > listed ? `, … (${names.length} in all)` : ""}.`,
    );
  });
  return [...new Set(found)];
}

function regexOf(pattern: string): RegExp {
  return new RegExp(
    `^(?:[^.]+\\.)?${pattern
      .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll("**", "\0")
      .replaceAll("*", "[^.]*")
      .replaceAll("\0", ".*")}$`,
  );
}

/** Returns the outermost modules inside the roots of the tree, or the roots if there are no modules inside them. */
export function outermostModules(names: Iterable<string>): string[] {
  const all = [...names];
  const isInside = (fqn: string, other: string): boolean => fqn.startsWith(`${other}.`);
  const roots = all.filter((fqn) => !all.some((other) => isInside(fqn, other)));
  const inner = all.filter((fqn) => !roots.includes(fqn));
  const highest = inner.filter((fqn) => !inner.some((other) => isInside(fqn, other)));
  return highest.length > 0 ? highest : roots;
}
