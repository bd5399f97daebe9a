import {
  type AllocatorBin,
  type AllocatorLog,
  allocatorLog,
  type ChunksOfSize,
  type MemoryKind,
} from "./allocator-log.js";
import { readMemoryError } from "./read-memory-error.js";
import { readSize, sizeAt } from "./size-in-text.js";

const failedText = ") ran out of memory trying to allocate ";
/** Longer names are cut. */
const mostOfName = 200;
const harmlessText = "this is not a failure";
const roundedNext = / \(rounded to (\d{1,19})\)/y;
const requestNext = /\s{0,8}requested by op ([^\s]{1,1000})/y;

/**
 * Returns the position in a line at which it reports that the allocator failed. Returns -1 if it does not, or if the
 * requester can also work with less memory.
 */
function failureIn(line: string): number {
  const at = line.lastIndexOf(failedText);
  return at < 0 || line.includes(harmlessText, at) || line.lastIndexOf("Allocator (", at) < 0 ? -1 : at;
}

/** Removes the prefix of TensorFlow's logger from a line. */
function withoutPrefix(line: string): string {
  const source = "bfc_allocator.cc:";
  const at = line.indexOf(source);
  if (at < 0) return line;
  const close = line.indexOf("]", at);
  // Line numbers of the source are short.
  if (close < 0 || close - at > source.length + 8) return line;
  return line.slice(line[close + 1] === " " ? close + 2 : close + 1);
}

/**
 * Reads the logs that TensorFlow's BFC allocators write after a failure: the last one of each allocator. Returns an
 * empty list if the text does not contain such a log. If the text has only the error that a program prints, only the
 * request is known. Every line is read once, from left to right.
 *
 * The format is that of `BFCAllocator::DumpMemoryLog` and `AllocateRaw` in TensorFlow's `bfc_allocator.cc`, with
 * numbers as written by `HumanReadableNumBytes`, in releases 1 and 2.
 *
 * @throws RematError `ALLOCATOR_LOG` for sizes that no allocator can have
 * @internal
 */
export function readBfcLogs(text: string): readonly AllocatorLog[] {
  const lines = text.split(/\r?\n/);
  const starts: number[] = [];
  for (const [i, line] of lines.entries()) if (failureIn(line) >= 0) starts.push(i);
  if (starts.length === 0) return errorOf(lines) ?? [];
  const lastOfName = new Map<string, number>();
  for (const [i, start] of starts.entries()) {
    const { name } = requestOf(lines[start] as string);
    lastOfName.delete(name);
    lastOfName.set(name, i);
  }
  return [...lastOfName.values()].map((i) => logOfFailure(lines.slice(starts[i], starts[i + 1])));
}

/** Reads the log of one failure, which its first line reports. */
function logOfFailure(lines: readonly string[]): AllocatorLog {
  const { name, aboutBytes, exactBytes, op } = requestOf(lines[0] as string);
  const bins: AllocatorBin[] = [];
  const sizes = new Map<number, { inUse: number; free: number }>();
  const stats = new Map<string, number>();
  const summary = new Map<number, number>();
  let pool: readonly (number | undefined)[] = [];
  let asked: ReturnType<typeof readMemoryError>;
  for (const line of lines.slice(1)) {
    const said = withoutPrefix(line);
    const bin = binOf(said);
    if (bin !== undefined) bins.push(bin);
    const [, state, bytes] = /^(InUse|Chunk|Free)\s+at [0-9a-fA-Fx]+ of size (\d{1,19})\b/.exec(said) ?? [];
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
    const [, count, size] = /^(\d{1,9}) Chunks of size (\d{1,19}) totalling /.exec(said) ?? [];
    if (size !== undefined) summary.set(Number(size), Number(count));
    const stat = statOf(said);
    if (stat !== undefined) stats.set(...stat);
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
    memory: memoryOf(name),
    askedBytes: exactBytes ?? asked?.askedBytes ?? aboutBytes,
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
    sizes:
      chunks.length > 0
        ? chunks
        : [...summary].map(([bytes, inUse]) => ({ bytes, inUse, free: 0 })).sort((a, b) => b.bytes - a.bytes),
    bins: bins.filter(({ chunks = 0 }) => chunks > 0),
    truncated: !stats.has("MaxInUse"),
  };
}

/**
 * Parses the line of a failure: `Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB (rounded to
 * 2415919104)requested by op Conv2D`.
 */
function requestOf(line: string) {
  const at = failureIn(line);
  const open = line.lastIndexOf("Allocator (", at) + "Allocator (".length;
  const name = line.slice(open, Math.min(at, open + mostOfName));
  const about = sizeAt(line, at + failedText.length);
  let end = about?.end ?? at + failedText.length;
  roundedNext.lastIndex = end;
  const [rounded, exact] = roundedNext.exec(line) ?? [];
  if (rounded !== undefined) end += rounded.length;
  requestNext.lastIndex = end;
  const [, op] = requestNext.exec(line) ?? [];
  return {
    name,
    aboutBytes: about?.bytes,
    exactBytes: exact === undefined ? undefined : sizeAt(exact, 0)?.bytes,
    op,
  };
}

const statFields = new Set(["Limit", "InUse", "MaxInUse", "LargestFreeBlock"]);

/** Parses a line of statistics: a field, and a number at its end. */
function statOf(line: string): readonly [field: string, bytes: number] | undefined {
  const colon = line.lastIndexOf(": ");
  if (colon < 0) return undefined;
  const field =
    line
      .slice(Math.max(0, colon - 24), colon)
      .split(/\s/)
      .at(-1) ?? "";
  if (!statFields.has(field)) return undefined;
  const bytes = readSize(line.slice(colon + 2).trim());
  return bytes === undefined ? undefined : [field, bytes];
}

const tensorText = "OOM when allocating tensor";
const allocatorText = " by allocator ";

function errorOf(lines: readonly string[]): readonly AllocatorLog[] | undefined {
  const isError = (each: string): boolean => each.includes(allocatorText, Math.max(0, each.indexOf(tensorText)));
  const line = lines.findLast((each) => each.includes(tensorText) && isError(each));
  if (line === undefined) return undefined;
  const at = line.lastIndexOf(allocatorText) + allocatorText.length;
  const name = /^\w*/.exec(line.slice(at, at + mostOfName))![0];
  const { askedBytes, shape, dtype } = readMemoryError(line) ?? {};
  return [allocatorLog({ kind: "bfc", name, memory: memoryOf(name), askedBytes, shape, dtype, truncated: true })];
}

/** TensorFlow's allocators for the host are `cpu`, `mklcpu`, `cuda_host_bfc` and `gpu_host_bfc`. */
function memoryOf(name: string): MemoryKind {
  return /cpu|host/i.test(name) ? "host" : "device";
}

function binOf(line: string): AllocatorBin | undefined {
  const found =
    /^Bin \((\d{1,19})\):\s+Total Chunks: (\d{1,15}), Chunks in use: (\d{1,15})\. (\S+) allocated for chunks\. (\S+) in use in bin\./.exec(
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
