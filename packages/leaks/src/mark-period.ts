/** Under which all copies of this package in a process hear of a mark. */
const listenersKey: symbol = Symbol.for("remat.leaks.periods");

type Marked = Record<symbol, Set<(kind: string) => void> | undefined>;

/**
 * Says that a period of the program is over: a request, an episode, whatever should leave memory as it was. Does nothing where nobody watches: `remat leaks`
 * does. From the first mark on only marks count as periods.
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

/** Listens to marks, of whatever copy of this package, until the returned function is called. */
export function onMarkedPeriod(listener: (kind: string) => void): () => void {
  const marked = globalThis as unknown as Marked;
  const listeners = (marked[listenersKey] ??= new Set());
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) delete marked[listenersKey];
  };
}
