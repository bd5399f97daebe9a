import type { HeapCensus } from "./heap-census.js";

/** Memory of a process after a number of periods, with garbage collected. */
export interface ProcessSample {
  readonly periods: number;
  readonly heapBytes: number;
  readonly arrayBytes: number;
  readonly residentBytes: number | undefined;
  /** Bytes of all tensors, as `tf.memory()` counts them. */
  readonly tensorBytes: number;
  /** Freed device memory that the backend keeps for reuse, if it reports that. */
  readonly pooledBytes: number;
}

/** Fields of `tf.memory()` on webgl and webgpu. */
interface DeviceMemory {
  readonly numBytesInGPU?: number;
  readonly numBytesInGPUFree?: number;
  readonly numBytesAllocatedInGPU?: number;
}

/** Returns how much memory of freed textures and buffers a backend keeps, from the result of `tf.memory()`. */
export function pooledBytesOf(told: object): number {
  const { numBytesInGPU = 0, numBytesInGPUFree, numBytesAllocatedInGPU = numBytesInGPU } = told as DeviceMemory;
  return numBytesInGPUFree ?? Math.max(0, numBytesAllocatedInGPU - numBytesInGPU);
}

/** Growth of something other than tensors. */
export interface ProcessGrowth {
  /**
   * The part that grows: JavaScript's heap, arrays that do not belong to a tensor, freed device memory that the backend
   * keeps for reuse, or the rest of the process's memory.
   */
  readonly what: "heap" | "arrays" | "pool" | "allocator";
  /** Growth in bytes for each period of the kind `period`. */
  readonly bytesPerPeriod: number;
  /** The kind of period. */
  readonly period: string;
}

/**
 * Growth below these sizes is code that the program and its libraries compile and cache, or for an allocator, partly
 * used pages.
 */
const leastBytes: Readonly<Record<ProcessGrowth["what"], number>> = {
  heap: 4 * 2 ** 20,
  arrays: 2 ** 20,
  pool: 2 ** 20,
  allocator: 16 * 2 ** 20,
};
const leastBytesPerPeriod = 1024;

/** Samples the memory of a process and detects growth that tensors do not explain. */
export class ProcessMemory {
  private samples: ProcessSample[] = [];

  /** Restarts the count of periods. */
  restart(): void {
    this.samples = [];
  }

  /** Without a census, only the backend's figures are sampled. */
  add(
    periods: number,
    census: Pick<HeapCensus, "heapBytes" | "arrayBytes" | "residentBytes"> | undefined,
    told: Pick<ProcessSample, "tensorBytes" | "pooledBytes">,
  ): void {
    const { heapBytes = 0, arrayBytes = 0, residentBytes } = census ?? {};
    this.samples.push({ periods, heapBytes, arrayBytes, residentBytes, ...told });
  }

  /** Reports growth per period of one kind, given that kind's share of all counted periods. */
  report(period: string, share: number): readonly ProcessGrowth[] {
    return judgeProcess(this.samples).map(({ what, bytesPerPeriod }) => {
      return { what, bytesPerPeriod: bytesPerPeriod / share, period };
    });
  }
}

/**
 * Returns the parts of a process that grew between each two of its last four samples. The latest growth per period must
 * be at least half of the growth before.
 */
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
  // On the cpu backend these arrays are the tensors' data.
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
