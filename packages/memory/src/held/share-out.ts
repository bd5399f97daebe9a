import { Category, EventKind, Trace } from "@remat/trace";

/** Returns the trace as one of `worldSize` devices holds it: what belongs to parameters, their gradients and optimizer state with it, is shared out. */
export function shareOut(trace: Trace, worldSize: number): Trace {
  const { storages, events } = trace;
  const sharded = new Set<number>([Category.parameter, Category.gradient, Category.optimizerState]);
  const bytes = storages.bytes.slice();
  const isSharded = Uint8Array.from(storages.category.subarray(0, storages.count), (category) =>
    sharded.has(category) ? 1 : 0,
  );
  for (let e = 0; e < events.count; e++)
    if (events.kind[e] === EventKind.categorize && sharded.has(events.value[e])) isSharded[events.subject[e]] = 1;
  for (let storage = 0; storage < storages.count; storage++)
    if (isSharded[storage] === 1) bytes[storage] = Math.ceil(bytes[storage] / worldSize);
  return new Trace({ ...trace, storages: { ...storages, bytes } });
}
