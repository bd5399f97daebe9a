/** Memory of a process after a round. */
export interface MemoryReading {
  /** After garbage collection. */
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly tensors: number;
  /** Listeners of the process's events. */
  readonly listeners: number;
}

/** Allowed growth of a heap without a leak: V8 keeps compiling and caching. */
const heapSlackBytes = 8e6;
/** Not all freed pages return to the system. */
const residentSlackBytes = 150e6;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/**
 * Describes any growth from the first third of some readings to the last that exceeds the growth of a leak-free
 * process. Returns undefined if there is none.
 */
export function describeGrowth(readings: readonly MemoryReading[]): string | undefined {
  const third = Math.max(1, Math.floor(readings.length / 3));
  const grown = (of: (reading: MemoryReading) => number): number =>
    median(readings.slice(-third).map(of)) - median(readings.slice(0, third).map(of));
  const found = [
    [grown(({ heapBytes }) => heapBytes), heapSlackBytes, "bytes of heap"],
    [grown(({ residentBytes }) => residentBytes), residentSlackBytes, "resident bytes"],
    [grown(({ tensors }) => tensors), 0, "tensors"],
    [grown(({ listeners }) => listeners), 0, "listeners"],
  ] as const;
  const texts = found.filter(([by, slack]) => by > slack).map(([by, , what]) => `${by} ${what}`);
  return texts.length === 0 ? undefined : `in ${readings.length} rounds the process grows by ${texts.join(", ")}`;
}
