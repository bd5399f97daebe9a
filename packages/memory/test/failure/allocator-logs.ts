import fc from "fast-check";

/** A chunk of a region of TensorFlow's BFC allocator. */
export interface SimulatedChunk {
  readonly bytes: number;
  readonly inUse: boolean;
}

/** State of an allocator when it failed. */
export interface SimulatedBfc {
  readonly name: string;
  readonly regions: readonly (readonly SimulatedChunk[])[];
  readonly limitBytes: number;
  readonly shape: readonly number[];
  readonly op: string;
}

const kib = 1024;

/** As tensorflow's `strings::HumanReadableNumBytes` writes it. */
export function humanBytes(bytes: number): string {
  if (bytes < kib) return `${bytes}B`;
  let at = 0;
  let left = bytes;
  for (; left >= kib * kib; at++) left = Math.floor(left / kib);
  return `${(left / kib).toFixed(at === 0 ? 1 : 2)}${"KMGTPE"[at]}iB`;
}

const round = (bytes: number): number => Math.ceil(bytes / 256) * 256;

export const askedOf = ({ shape }: Pick<SimulatedBfc, "shape">): number => round(shape.reduce((a, b) => a * b, 4));

/**
 * The log of `BFCAllocator` when it cannot allocate, following the source of `AllocateRaw`, `DumpMemoryLog` and
 * `AllocatorStats::DebugString`.
 */
export function bfcLog({ name, regions, limitBytes, shape, op }: SimulatedBfc): string {
  let line = 1000;
  const log = (text: string): string => `2026-11-23 15:20:48.231744: I bfc_allocator.cc:${line++}] ${text}`;
  const chunks = regions.flat();
  const asked = askedOf({ shape });
  const sum = (of: readonly SimulatedChunk[]): number => of.reduce((all, { bytes }) => all + bytes, 0);
  const used = chunks.filter(({ inUse }) => inUse);
  const bins = Array.from({ length: 21 }, (_, i) => {
    const from = 256 * 2 ** i;
    const here = chunks.filter(({ bytes }) => bytes >= from && (i === 20 || bytes < 2 * from));
    const inUse = here.filter((chunk) => chunk.inUse);
    return log(
      `Bin (${from}): \tTotal Chunks: ${here.length}, Chunks in use: ${inUse.length}. ${humanBytes(sum(here))} allocated for chunks. ${humanBytes(sum(inUse))} in use in bin. ${humanBytes(sum(inUse))} client-requested in use in bin.`,
    );
  });
  const listed = regions.flatMap((region) => {
    let at = 0x7f0e9c000000;
    const lines = region.map(({ bytes, inUse }, i) => {
      const text = `${inUse ? "InUse" : "Free "} at ${at.toString(16)} of size ${bytes} next ${i === region.length - 1 ? "18446744073709551615" : i + 1}`;
      at += bytes;
      return log(text);
    });
    return [log(`Next region of size ${sum(region)}`), ...lines];
  });
  const counts = new Map<number, number>();
  for (const { bytes } of used) counts.set(bytes, (counts.get(bytes) ?? 0) + 1);
  const pool = sum(chunks);
  return [
    "Epoch 1/10",
    `W0000 00:00:1795445648.230557    7640 bfc_allocator.cc:502] Allocator (${name}) ran out of memory trying to allocate ${humanBytes(asked)} (rounded to ${asked})requested by op ${op}`,
    "If the cause is memory fragmentation maybe the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. ",
    "Current allocation summary follows.",
    log(`BFCAllocator dump for ${name}`),
    ...bins,
    log(`Bin for ${humanBytes(asked)} was 256.00MiB, Chunk State: `),
    ...listed,
    log("     Summary of in-use Chunks by size: "),
    ...[...counts].map(([bytes, count]) =>
      log(`${count} Chunks of size ${bytes} totalling ${humanBytes(bytes * count)}`),
    ),
    log(`Sum Total of in-use chunks: ${humanBytes(sum(used))}`),
    log(
      `Total size in pool: ${humanBytes(pool)} memory_limit_: ${humanBytes(limitBytes)} available size: ${humanBytes(limitBytes - pool)} curr_region_allocation_bytes_: 8.00MiB`,
    ),
    log("Stats: "),
    `Limit:            ${humanBytes(limitBytes).padStart(16)}`,
    `InUse:            ${humanBytes(sum(used)).padStart(16)}`,
    `MaxInUse:         ${humanBytes(sum(used)).padStart(16)}`,
    "NumAllocs:                           1",
    "MaxAllocSize:                  8.00MiB",
    "Reserved:                           0B",
    "PeakReserved:                       0B",
    "LargestFreeBlock:                   0B",
    "",
    "W0000 00:00:1795445648.231886    7640 bfc_allocator.cc:513] ****____xxxx",
    `W0000 00:00:1795445648.231942    7640 op_kernel.cc:1858] OP_REQUIRES failed at constant_op.cc:176 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[${shape.join(",")}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator ${name}`,
    "Traceback (most recent call last):",
    "",
  ].join("\n");
}

export const bfcArbitrary: fc.Arbitrary<SimulatedBfc> = fc
  .record({
    name: fc.constantFrom("GPU_0_bfc", "mklcpu", "cuda_host_bfc"),
    regions: fc.array(
      fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 2 ** 22 }).map((n) => 256 * n), inUse: fc.boolean() }), {
        minLength: 1,
        maxLength: 20,
      }),
      { maxLength: 4 },
    ),
    spareBytes: fc.integer({ min: 0, max: 2 ** 34 }),
    shape: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 }),
    op: fc.constantFrom("Conv2D", "_MklBatchMatMulV2", "Fill"),
  })
  .map(({ spareBytes, ...given }) => ({
    ...given,
    limitBytes: given.regions.flat().reduce((sum, { bytes }) => sum + bytes, spareBytes),
  }));

/** State of PyTorch's caching allocator when it failed. */
export interface SimulatedCuda {
  readonly device: number;
  readonly askedBytes: number;
  readonly limitBytes: number;
  readonly freeBytes: number;
  readonly small: CudaPool;
  readonly large: CudaPool;
}

export interface CudaPool {
  readonly allocations: number;
  readonly inUseBytes: number;
  readonly reservedBytes: number;
}

/** As c10's `format_size` writes it. */
export function cudaSize(bytes: number): string {
  for (const [at, unit] of ["KiB", "MiB", "GiB"].entries())
    if (bytes <= 1024 ** (at + 2) || unit === "GiB")
      return bytes <= 1024 ? `${bytes} bytes` : `${(bytes / 1024 ** (at + 1)).toFixed(2)} ${unit}`;
  throw new Error("never");
}

const both = ({ small, large }: SimulatedCuda, field: keyof CudaPool): number => small[field] + large[field];

/** The message of `OutOfMemoryError`, since release 2.0 and before. */
export function cudaError(state: SimulatedCuda, since2: boolean): string {
  const { device, askedBytes, limitBytes, freeBytes } = state;
  const [allocated, reserved] = [both(state, "inUseBytes"), both(state, "reservedBytes")];
  const asked = `CUDA out of memory. Tried to allocate ${cudaSize(askedBytes)}`;
  const hint =
    "See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";
  return since2
    ? `torch.OutOfMemoryError: ${asked}. GPU ${device} has a total capacity of ${cudaSize(limitBytes)} of which ${cudaSize(freeBytes)} is free. Process 1839 has 322.23 MiB memory in use. Including non-PyTorch memory, this process has ${cudaSize(limitBytes - freeBytes)} memory in use. Of the allocated memory ${cudaSize(allocated)} is allocated by PyTorch, and ${cudaSize(reserved - allocated)} is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  ${hint}\n`
    : `RuntimeError: ${asked} (GPU ${device}; ${cudaSize(limitBytes)} total capacity; ${cudaSize(allocated)} already allocated; ${cudaSize(freeBytes)} free; ${cudaSize(reserved)} reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  ${hint}\n`;
}

/** The output of `torch.cuda.memory_summary()`, following torch's `cuda/memory.py`. */
export function cudaSummary(state: SimulatedCuda): string {
  const size = (bytes: number): string => {
    let at = 0;
    let shown = bytes;
    for (let scale = bytes; at < 5 && scale >= 768 * 1024; at++, scale /= 1024) shown = Math.floor(shown / 1024);
    return `${String(shown).padStart(6)} ${["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"][at]}`;
  };
  const count = (n: number): string => `${String(n).padStart(7)}   `;
  const row = (name: string, cell: string): string => ` ${name.padEnd(21)} | ${cell} | ${cell} | ${cell} | ${cell} `;
  const metric = (name: string, field: keyof CudaPool, write: (n: number) => string): string[] => [
    "-".repeat(75),
    row(name, write(both(state, field))),
    row("      from large pool", write(state.large[field])),
    row("      from small pool", write(state.small[field])),
  ];
  return [
    "=".repeat(75),
    `                  PyTorch CUDA memory summary, device ID ${String(state.device).padEnd(17)} `,
    "-".repeat(75),
    "            CUDA OOMs: 1            |        cudaMalloc retries: 1         ",
    "=".repeat(75),
    "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ...metric("Allocated memory", "inUseBytes", size),
    ...metric("Active memory", "inUseBytes", size),
    ...metric("GPU reserved memory", "reservedBytes", size),
    ...metric("Allocations", "allocations", count),
    "=".repeat(75),
  ]
    .map((line) => `|${line}|\n`)
    .join("");
}

const poolArbitrary: fc.Arbitrary<CudaPool> = fc
  .record({
    allocations: fc.integer({ min: 0, max: 9999 }),
    inUseBytes: fc.nat(2 ** 31 - 1),
    slackBytes: fc.nat(2 ** 30),
  })
  .map(({ slackBytes, ...pool }) => ({ ...pool, reservedBytes: pool.inUseBytes + slackBytes }));

export const cudaArbitrary: fc.Arbitrary<SimulatedCuda> = fc
  .record({
    device: fc.nat(7),
    askedBytes: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    freeBytes: fc.nat(2 ** 30),
    othersBytes: fc.nat(2 ** 30),
    small: poolArbitrary,
    large: poolArbitrary,
  })
  .map(({ othersBytes, ...state }) => ({
    ...state,
    limitBytes: state.small.reservedBytes + state.large.reservedBytes + state.freeBytes + othersBytes,
  }));
