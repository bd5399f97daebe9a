import { EventKind, type OpIndex, type StorageIndex, type Trace } from "@remat/trace";

/** Callbacks for the events of a trace that concern storages. All are optional. Events are counted from 0. */
export interface MemoryEventReader {
  allocate?(storage: StorageIndex, event: number): void;
  free?(storage: StorageIndex, event: number): void;
  /** @param bytes the requested size, not rounded */
  resize?(storage: StorageIndex, bytes: number, event: number): void;
  categorize?(storage: StorageIndex, category: number, event: number): void;
  op?(op: OpIndex, event: number): void;
  /** Called for any other event. `kind` is an `EventKind`, with the columns of the event. */
  other?(kind: number, subject: number, value: number, event: number): void;
}

/**
 * Reads a trace's events in order, from `from` up to `to`.
 *
 * @example
 * readMemoryEvents(trace, { free: (storage) => freed.add(storage) });
 */
export function readMemoryEvents(
  trace: Trace,
  reader: MemoryEventReader,
  from = 0,
  to: number = trace.events.count,
): void {
  const { kind, subject, value } = trace.events;
  for (let event = from; event < to; event++) {
    const item = subject[event];
    switch (kind[event]) {
      case EventKind.op:
        reader.op?.(item, event);
        break;
      case EventKind.allocate:
        reader.allocate?.(item, event);
        break;
      case EventKind.free:
        reader.free?.(item, event);
        break;
      case EventKind.resize:
        reader.resize?.(item, value[event], event);
        break;
      case EventKind.categorize:
        reader.categorize?.(item, value[event], event);
        break;
      default:
        reader.other?.(kind[event], item, value[event], event);
    }
  }
}

/**
 * Returns whether an event frees memory or changes its size. The memory in use before such an event may be a peak.
 * @internal
 */
export function isTurn(trace: Trace, event: number): boolean {
  const kind = trace.events.kind[event];
  return kind === EventKind.free || kind === EventKind.resize;
}

/** Counts the allocations and releases of a trace. */
export function countLifetimes(trace: Trace): { readonly allocations: number; readonly frees: number } {
  let allocations = 0;
  let frees = 0;
  readMemoryEvents(trace, { allocate: () => void allocations++, free: () => void frees++ });
  return { allocations, frees };
}

/**
 * Returns whether a trace records lifetimes: it frees something, or its run failed in the middle of a step. Without
 * lifetimes the memory in use is unknown.
 */
export function tellsLifetimes({ events, header }: Pick<Trace, "events" | "header">): boolean {
  if (header.failure !== undefined) return true;
  for (let event = 0; event < events.count; event++) if (events.kind[event] === EventKind.free) return true;
  return false;
}
