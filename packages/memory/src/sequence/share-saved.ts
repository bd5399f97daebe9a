import { EventKind, Trace } from "@remat/trace";

/**
 * Returns `trace` as it is where what autograd saves is on the data that it was saved of: where saving copies in stock (`Identity` on wasm), an
 * executor shares, so that a copy holds nothing of its own, and who reads it reads the original. A trace without such copies is returned as it is.
 */
export function shareSaved(trace: Trace): Trace {
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

  const kept: number[] = [];
  for (let e = 0; e < events.count; e++) if (!isOfCopy(trace, e, original)) kept.push(e);
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
      subject: Int32Array.from(kept, (e) => events.subject[e]),
      value: Float64Array.from(kept, (e) => events.value[e]),
    },
  });
}

function isOfCopy({ events: { kind, subject } }: Trace, event: number, original: Int32Array): boolean {
  switch (kind[event]) {
    case EventKind.allocate:
    case EventKind.free:
    case EventKind.resize:
    case EventKind.categorize:
      return original[subject[event]] !== subject[event];
    default:
      return false;
  }
}
