import { EventKind, Trace } from "@remat/trace";

/**
 * Returns `trace` with saved tensors that share the data they were saved from. If saving creates a copy in unmodified
 * TensorFlow.js (`Identity` on wasm), an executor shares the data instead. The copy then has no memory of its own. Its
 * readers read the original, which lives until it and all its copies are freed. A trace without such copies is returned
 * unchanged.
 */
export function withSharedSaves(trace: Trace): Trace {
  const { saves, tensors, events, storages } = trace;
  const original = Int32Array.from({ length: storages.count }, (_, storage) => storage);
  let hasCopies = false;
  for (let i = 0; i < saves.count; i++) {
    const saved = saves.tensor[i];
    if (saved < 0 || tensors.storage[saved] === saves.storage[i]) continue;
    if (tensors.moreStorages.get(saved)?.includes(saves.storage[i])) continue;
    original[saves.storage[i]] = original[tensors.storage[saved]];
    hasCopies = true;
  }
  if (!hasCopies) return trace;

  const lastFree = lastFrees(trace, original);
  const kept: number[] = [];
  for (let e = 0; e < events.count; e++) if (isKept(trace, e, original, lastFree)) kept.push(e);
  return new Trace({
    ...trace,
    tensors: {
      ...tensors,
      storage: tensors.storage.map((storage) => original[storage]),
      moreStorages: new Map(
        Array.from(tensors.moreStorages, ([tensor, of]) => [tensor, of.map((storage) => original[storage])]),
      ),
    },
    saves: { ...saves, storage: saves.storage.map((storage) => original[storage]) },
    events: {
      count: kept.length,
      kind: Uint8Array.from(kept, (e) => events.kind[e]),
      subject: Int32Array.from(kept, (e) =>
        events.kind[e] === EventKind.free ? original[events.subject[e]] : events.subject[e],
      ),
      value: Float64Array.from(kept, (e) => events.value[e]),
    },
  });
}

/**
 * Returns, for each original, the event after which it and all its copies are freed, or -1 if one of them is never
 * freed.
 */
function lastFrees({ events: { count, kind, subject } }: Trace, original: Int32Array): Int32Array {
  const alive = new Int32Array(original.length);
  for (const storage of original) alive[storage]++;
  const last = new Int32Array(original.length).fill(-1);
  for (let e = 0; e < count; e++)
    if (kind[e] === EventKind.free && --alive[original[subject[e]]] === 0) last[original[subject[e]]] = e;
  return last;
}

function isKept(
  { events: { kind, subject } }: Trace,
  event: number,
  original: Int32Array,
  lastFree: Int32Array,
): boolean {
  const storage = subject[event];
  switch (kind[event]) {
    case EventKind.free:
      return lastFree[original[storage]] === event;
    case EventKind.allocate:
    case EventKind.resize:
    case EventKind.categorize:
    case EventKind.savedOnly:
      return original[storage] === storage;
    default:
      return true;
  }
}
