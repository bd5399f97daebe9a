import { nearestNames, type Trace } from "@remat/trace";
import { planError } from "./sharding-plan.js";

/** Returns the module of the first outermost call, to which `fully_shard(model)` is applied last. */
export function rootModule(trace: Trace): number {
  const call = trace.calls.parent.indexOf(-1);
  if (call < 0 || trace.calls.count === 0)
    throw planError("the trace contains no modules to wrap. Record it with its model.");
  return trace.calls.module[call];
}

/**
 * Returns the modules whose names match any of `patterns`, with or without the root's name in front. The empty string
 * is the root, as in `named_modules`.
 *
 * @param alsoTaken other accepted words, which the error suggests if a pattern matches no module
 * @throws RematError `SHARDING_PLAN` for a pattern that matches no module
 */
export function matchModules(
  trace: Trace,
  root: number,
  patterns: readonly string[],
  alsoTaken: readonly string[] = [],
): number[] {
  const prefix = `${trace.modules[root].fqn}.`;
  const matched = new Set<number>();
  for (const pattern of patterns) {
    if (pattern === "") {
      matched.add(root);
      continue;
    }
    const expression = patternToRegExp(pattern);
    let found = false;
    trace.modules.forEach(({ fqn }, module) => {
      if (!expression.test(fqn) && !(fqn.startsWith(prefix) && expression.test(fqn.slice(prefix.length)))) return;
      found = true;
      matched.add(module);
    });
    if (!found)
      throw planError(`no module is named ${JSON.stringify(pattern)}: ${suggest(trace, prefix, pattern, alsoTaken)}.`);
  }
  return [...matched];
}

/** Regular expressions of the wildcards, except `[0-3]` and `[02]`. */
const wildcards: Readonly<Record<string, string>> = { "**": ".*", "*": "[^.]*", "?": "[^.]" };

function patternToRegExp(pattern: string): RegExp {
  const source = pattern.replace(/\[\w+\]|\[\d-\d\]|\*\*|\*|\?|[^*?[]+|\[/g, (part) => {
    const isRange = /^\[(\w+|(\d)-(\d))\]$/.test(part) && !(part[2] === "-" && part[1] > part[3]);
    return isRange ? part : (wildcards[part] ?? part.replace(/[.+^${}()|[\]\\]/g, "\\$&"));
  });
  return new RegExp(`^${source}$`);
}

function suggest({ modules }: Trace, prefix: string, pattern: string, alsoTaken: readonly string[]): string {
  const names = modules.map(({ fqn }) => fqn);
  const known = names.flatMap((fqn) => (fqn.startsWith(prefix) ? [fqn, fqn.slice(prefix.length)] : [fqn]));
  const inside = patternToRegExp(`**.${pattern}`);
  const within = known.find((fqn) => inside.test(fqn) && !fqn.startsWith(prefix));
  if (within !== undefined) {
    const before = within.split(".").slice(0, -pattern.split(".").length);
    return `did you mean ${JSON.stringify([...before, pattern].join("."))}`;
  }
  const nearest = nearestNames(pattern, [...known, ...alsoTaken]);
  if (nearest.length > 0) return `nearest are ${nearest.join(", ")}`;
  const excerpt =
    names.length <= 12 ? names.join(", ") : `${names.slice(0, 12).join(", ")} and ${names.length - 12} more`;
  return `expected the name or a pattern of one of ${excerpt}`;
}
