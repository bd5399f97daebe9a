import type { Trace } from "@remat/trace";

/**
 * Returns a function that analyses each trace once, however many plans are simulated on it. Callers must not change the
 * results. @internal
 */
export function oncePerTrace<T>(analyse: (trace: Trace) => T): (trace: Trace) => T {
  const known = new WeakMap<Trace, { readonly result: T }>();
  return (trace) => {
    let found = known.get(trace);
    if (found === undefined) known.set(trace, (found = { result: analyse(trace) }));
    return found.result;
  };
}
