/** Key under which all copies of this package in a process share their listeners. */
const listenersKey: symbol = Symbol.for("remat.leaks.periods");

type Marked = Record<symbol, Set<(kind: string) => void> | undefined>;

/**
 * Marks the end of a step of your program: a request, an episode, anything that should leave memory as it was. Does
 * nothing unless the process is watched, as under `remat leaks`. After the first mark only marks count as steps.
 *
 * @example
 * for await (const request of requests) {
 *   await answer(request);
 *   markPeriod("request");
 * }
 */
export function markPeriod(kind = "period"): void {
  for (const listener of (globalThis as unknown as Marked)[listenersKey] ?? []) listener(kind);
}

/** Listens to marks from any copy of this package, until the returned function is called. */
export function onMarkedPeriod(listener: (kind: string) => void): () => void {
  const marked = globalThis as unknown as Marked;
  const listeners = (marked[listenersKey] ??= new Set());
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) delete marked[listenersKey];
  };
}
