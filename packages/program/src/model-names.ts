import type { Trace } from "@remat/trace";

/** Returns the names of the modules that run inside of no other, which a trace is called after. @internal */
export function modelNames({ calls, modules }: Pick<Trace, "calls" | "modules">): readonly string[] {
  const outermost = new Set<string>();
  calls.parent.forEach((parent, call) => {
    if (parent < 0) outermost.add(modules[calls.module[call]].fqn);
  });
  return [...outermost];
}
