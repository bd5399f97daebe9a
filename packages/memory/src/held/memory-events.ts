import { EventKind, type OpIndex, type StorageIndex, type Trace } from "@remat/trace";

/** Told of what happens to the storages of a trace, event by event. What is left out is not of interest. Events are counted from 0. */
export interface MemoryEventReader {
  allocate?(storage: StorageIndex, event: number): void;
  free?(storage: StorageIndex, event: number): void;
  /** `bytes` are those asked for, not rounded. */
  resize?(storage: StorageIndex, bytes: number, event: number): void;
  categorize?(storage: StorageIndex, category: number, event: number): void;
  op?(op: OpIndex, event: number): void;
  /** Any other event: `kind` of `EventKind`, with its columns. */
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

/** Whether an event frees memory or changes its size: what was held until then may have been a peak. @internal */
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

/** Tells whether a trace frees anything, or would have, had its run not ended in the midst of a step: in one that does not, what is held when cannot be told. */
export function tellsLifetimes({ events, header }: Pick<Trace, "events" | "header">): boolean {
  if (header.failure !== undefined) return true;
  for (let event = 0; event < events.count; event++) if (events.kind[event] === EventKind.free) return true;
  return false;
}
