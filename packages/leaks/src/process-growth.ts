import type { HeapCensus } from "./heap-census.js";

/** What a process held after so many periods, its garbage collected. */
export interface ProcessSample {
  readonly periods: number;
  readonly heapBytes: number;
  readonly arrayBytes: number;
  readonly residentBytes: number | undefined;
  /** Of all tensors, as `tf.memory()` counts. */
  readonly tensorBytes: number;
  /** What the backend keeps on the device of what was freed, for the next of its size, where it tells that. */
  readonly pooledBytes: number;
}

/** What `tf.memory()` tells on webgl, and on webgpu. */
interface DeviceMemory {
  readonly numBytesInGPU?: number;
  readonly numBytesInGPUFree?: number;
  readonly numBytesAllocatedInGPU?: number;
}

/** Returns what a backend keeps of textures and buffers that were freed, of what `tf.memory()` says. */
export function pooledBytesOf(told: object): number {
  const { numBytesInGPU = 0, numBytesInGPUFree, numBytesAllocatedInGPU = numBytesInGPU } = told as DeviceMemory;
  return numBytesInGPUFree ?? Math.max(0, numBytesAllocatedInGPU - numBytesInGPU);
}

/** Something besides tensors that grows. */
export interface ProcessGrowth {
  readonly what: "heap" | "arrays" | "pool" | "allocator";
  readonly bytesPerPeriod: number;
  /** The kind of period. */
  readonly period: string;
}

/** Less, and it is what a program and its libraries compile and remember; of an allocator, what the pages are that it begins. */
const leastBytes: Readonly<Record<ProcessGrowth["what"], number>> = {
  heap: 4 * 2 ** 20,
  arrays: 2 ** 20,
  pool: 2 ** 20,
  allocator: 16 * 2 ** 20,
};
const leastBytesPerPeriod = 1024;

/** Collects what a process holds, and judges what of it grows though tensors do not. */
export class ProcessMemory {
  private samples: ProcessSample[] = [];

  /** Periods are counted anew. */
  restart(): void {
    this.samples = [];
  }

  /** Without a census only of what the backend tells. */
  add(
    periods: number,
    census: Pick<HeapCensus, "heapBytes" | "arrayBytes" | "residentBytes"> | undefined,
    told: Pick<ProcessSample, "tensorBytes" | "pooledBytes">,
  ): void {
    const { heapBytes = 0, arrayBytes = 0, residentBytes } = census ?? {};
    this.samples.push({ periods, heapBytes, arrayBytes, residentBytes, ...told });
  }

  /** By the period of one kind, which were that share of those that were counted. */
  report(period: string, share: number): readonly ProcessGrowth[] {
    return judgeProcess(this.samples).map(({ what, bytesPerPeriod }) => {
      return { what, bytesPerPeriod: bytesPerPeriod / share, period };
    });
  }
}

/** Returns what of a process grew between each two of its last four samples, and in the last by half as much a period as in those before, or more. */
export function judgeProcess(samples: readonly ProcessSample[]): readonly Omit<ProcessGrowth, "period">[] {
  const last = samples.slice(-4);
  if (last.length < 4) return [];
  const growthOf = (what: ProcessGrowth["what"], bytesOf: (sample: ProcessSample) => number): number => {
    const rates = last
      .slice(1)
      .map((sample, i) => (bytesOf(sample) - bytesOf(last[i])) / (sample.periods - last[i].periods));
    const mean = (bytesOf(last[3]) - bytesOf(last[0])) / (last[3].periods - last[0].periods);
    const total = bytesOf(last[3]) - bytesOf(last[0]);
    const isGrowing =
      total >= leastBytes[what] && mean >= leastBytesPerPeriod && rates.every((rate) => rate > mean / 2);
    return isGrowing ? mean : 0;
  };
  // On cpu the data of tensors are such arrays.
  const arrays = growthOf("arrays", ({ arrayBytes, tensorBytes }) => Math.max(0, arrayBytes - tensorBytes));
  const heap = growthOf("heap", ({ heapBytes }) => heapBytes);
  const rest = growthOf("allocator", ({ residentBytes = 0, heapBytes, arrayBytes, tensorBytes }) =>
    Math.max(0, residentBytes - heapBytes - Math.max(arrayBytes, tensorBytes)),
  );
  return [
    { what: "heap" as const, bytesPerPeriod: heap },
    { what: "arrays" as const, bytesPerPeriod: arrays },
    { what: "pool" as const, bytesPerPeriod: growthOf("pool", ({ pooledBytes }) => pooledBytes) },
    { what: "allocator" as const, bytesPerPeriod: rest },
  ].filter(({ bytesPerPeriod }) => bytesPerPeriod > 0);
}
