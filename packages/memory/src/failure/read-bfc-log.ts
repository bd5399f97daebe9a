import { type AllocatorBin, type AllocatorLog, type ChunksOfSize, readSize } from "./allocator-log.js";
import { readMemoryError } from "./read-memory-error.js";

/** What TensorFlow's logger puts before each line. */
const prefix = /^.*?bfc_allocator\.cc:\d+\] ?/;

/** Whether a line says that the allocator had nothing to give, and nobody who can do with less had asked. */
const failed = /Allocator \(.*\) ran out of memory trying to allocate(?!.*this is not a failure)/;

/**
 * Reads what TensorFlow's BFC allocator logs when it fails: the last time, where there were several. Undefined of a log in which it does not. Source of the format:
 * `BFCAllocator::DumpMemoryLog` and `AllocateRaw` in tensorflow's `bfc_allocator.cc`, with its numbers as `HumanReadableNumBytes` writes them, of releases 1 and 2. Of the
 * error alone, as a program prints it, only what was asked for is known.
 */
export function readBfcLog(text: string): AllocatorLog | undefined {
  const lines = text.split(/\r?\n/);
  const start = lines.findLastIndex((line) => failed.test(line));
  if (start < 0) return errorOf(lines);
  const [, name, about, exact, op] =
    /Allocator \((.*?)\) ran out of memory trying to allocate ([\d.]+\s*\w+)(?: \(rounded to (\d+)\))?\s*(?:requested by op (\S+))?/.exec(
      lines[start],
    )!;
  const bins: AllocatorBin[] = [];
  const sizes = new Map<number, { inUse: number; free: number }>();
  const stats = new Map<string, number>();
  let pool: readonly (number | undefined)[] = [];
  let asked: ReturnType<typeof readMemoryError>;
  for (const line of lines.slice(start + 1)) {
    const said = line.replace(prefix, "");
    const bin = binOf(said);
    if (bin !== undefined) bins.push(bin);
    const [, state, bytes] = /^(InUse|Chunk|Free)\s+at [0-9a-fA-Fx]+ of size (\d+)\b/.exec(said) ?? [];
    if (bytes !== undefined) {
      const of = sizes.get(Number(bytes)) ?? { inUse: 0, free: 0 };
      of[state === "Free" ? "free" : "inUse"]++;
      sizes.set(Number(bytes), of);
    }
    const total =
      /^(?:Total (?:size|bytes) in pool|total_region_allocated_bytes_): (\S+) memory_limit_: (\S+) available (?:size|bytes): (\S+)/.exec(
        said,
      );
    if (total !== null) pool = total.slice(1).map(readSize);
    const [, field, value] = /(?:^|\s)(Limit|InUse|MaxInUse|LargestFreeBlock): +(\S+)\s*$/.exec(said) ?? [];
    const size = value === undefined ? undefined : readSize(value);
    if (size !== undefined) stats.set(field, size);
    asked ??= readMemoryError(line);
  }
  const chunks: ChunksOfSize[] = [...sizes].map(([bytes, of]) => ({ bytes, ...of })).sort((a, b) => b.bytes - a.bytes);
  const sum = (state: "inUse" | "free"): number => chunks.reduce((all, size) => all + size.bytes * size[state], 0);
  const [poolBytes, memoryLimit, available] = pool;
  const hasChunks = chunks.length > 0 || poolBytes === 0;
  const inUseBytes = hasChunks ? sum("inUse") : stats.get("InUse");
  return {
    kind: "bfc",
    name,
    askedBytes: exact === undefined ? (asked?.askedBytes ?? readSize(about)) : Number(exact),
    op,
    shape: asked?.shape,
    dtype: asked?.dtype,
    limitBytes: stats.get("Limit") ?? memoryLimit,
    inUseBytes,
    pooledBytes: hasChunks
      ? sum("free")
      : poolBytes !== undefined && inUseBytes !== undefined
        ? Math.max(0, poolBytes - inUseBytes)
        : undefined,
    availableBytes: available,
    largestFreeBytes: hasChunks
      ? Math.max(0, ...chunks.filter(({ free }) => free > 0).map(({ bytes }) => bytes))
      : undefined,
    othersBytes: undefined,
    peakBytes: stats.get("MaxInUse"),
    sizes: chunks,
    bins: bins.filter(({ chunks = 0 }) => chunks > 0),
    truncated: !stats.has("MaxInUse"),
  };
}

function errorOf(lines: readonly string[]): AllocatorLog | undefined {
  const line = lines.findLast((each) => /\bOOM when allocating tensor\b.*\bby allocator \S/.test(each));
  if (line === undefined) return undefined;
  const { askedBytes, shape, dtype } = readMemoryError(line) ?? {};
  return {
    kind: "bfc",
    name: /\bby allocator (\w+)/.exec(line)![1],
    askedBytes,
    op: undefined,
    shape,
    dtype,
    limitBytes: undefined,
    inUseBytes: undefined,
    pooledBytes: undefined,
    availableBytes: undefined,
    largestFreeBytes: undefined,
    othersBytes: undefined,
    peakBytes: undefined,
    sizes: [],
    bins: [],
    truncated: true,
  };
}

function binOf(line: string): AllocatorBin | undefined {
  const found =
    /^Bin \((\d+)\):\s+Total Chunks: (\d+), Chunks in use: (\d+)\. (\S+) allocated for chunks\. (\S+) in use in bin\./.exec(
      line,
    );
  if (found === null) return undefined;
  const [, from, chunks, inUse, reserved, used] = found;
  return {
    name: `from ${from} B`,
    chunks: Number(chunks),
    chunksInUse: Number(inUse),
    inUseBytes: readSize(used) ?? 0,
    reservedBytes: readSize(reserved) ?? 0,
  };
}
