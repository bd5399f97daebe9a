import type { AllocatorBin, AllocatorLog } from "./allocator-log.js";
import { absurdSize, readSize, sizeAt, sizeBefore } from "./size-in-text.js";

const errorTexts = ["CUDA out of memory.", "HIP out of memory.", "XPU out of memory."];
const summaryText = "PyTorch CUDA memory summary, device ID ";

/**
 * Reads the last out-of-memory error of PyTorch's caching allocator for CUDA, ROCm or XPU, and the last output of
 * `torch.cuda.memory_summary()`. Returns undefined if the log has neither. Takes time linear in the length of the log.
 *
 * The formats are those of `format_size` and the error in c10's `CUDACachingAllocator.cpp`, from release 0.4 on, and of
 * torch's `cuda/memory.py`.
 *
 * @throws RematError `ALLOCATOR_LOG` for sizes that no allocator can have
 */
export function readCudaLog(text: string): AllocatorLog | undefined {
  const at = Math.max(...errorTexts.map((said) => text.lastIndexOf(said)));
  const isError = at >= 0;
  const error = isError ? text.slice(at).replaceAll(/\s+/g, " ") : "";
  const summary = readSummary(text);
  if (!isError && summary === undefined) return undefined;
  const after = (...markers: readonly string[]): number | undefined => firstSize(error, markers, sizeAfter);
  const before = (...markers: readonly string[]): number | undefined => firstSize(error, markers, sizeEnding);
  if (error.includes("Tried to allocate more than ")) throw absurdSize("more than 1EB");
  const [, device = "?"] = /GPU (\d{1,4})/.exec(error) ?? [];
  const limitBytes = after("total capacity of ", "total capacty of ") ?? before(" total capacity");
  const inUseBytes = before(" is allocated by PyTorch", " already allocated") ?? summary?.allocatedBytes;
  const reserved = before(" reserved in total by PyTorch") ?? summary?.reservedBytes;
  const pooledBytes =
    before(" is reserved by PyTorch but unallocated", " cached)") ??
    (reserved === undefined || inUseBytes === undefined ? undefined : Math.max(0, reserved - inUseBytes));
  const availableBytes = firstSize(error, ["of which "], sizeOfFree) ?? before(" free;");
  const known =
    limitBytes !== undefined && inUseBytes !== undefined && pooledBytes !== undefined && availableBytes !== undefined;
  return {
    kind: "cuda",
    name: `GPU ${isError ? device : (summary?.device ?? device)}`,
    askedBytes: after("Tried to allocate "),
    op: undefined,
    shape: undefined,
    dtype: undefined,
    limitBytes,
    inUseBytes,
    pooledBytes,
    availableBytes,
    largestFreeBytes: undefined,
    othersBytes: known ? Math.max(0, limitBytes - inUseBytes - pooledBytes - availableBytes) : undefined,
    peakBytes: summary?.peakBytes,
    sizes: [],
    bins: summary?.bins ?? [],
    truncated: isError ? pooledBytes === undefined : summary!.reservedBytes === undefined,
  };
}

type ReadsSize = (text: string, marker: string, at: number) => number | undefined;

/** PyTorch writes a unit after every size. If the unit is missing, the log breaks off there. */
const sizeAfter: ReadsSize = (text, marker, at) => {
  const size = sizeAt(text, at + marker.length);
  return size?.hasUnit ? size.bytes : undefined;
};
const sizeOfFree: ReadsSize = (text, marker, at) => {
  const size = sizeAt(text, at + marker.length);
  return size?.hasUnit && text.startsWith(" is free", size.end) ? size.bytes : undefined;
};
const sizeEnding: ReadsSize = (text, _marker, at) => sizeBefore(text, at);

/** Returns the first size next to a marker. Earlier markers take precedence. */
function firstSize(text: string, markers: readonly string[], read: ReadsSize): number | undefined {
  for (const marker of markers)
    for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + marker.length)) {
      const bytes = read(text, marker, at);
      if (bytes !== undefined) return bytes;
    }
  return undefined;
}

interface CudaSummary {
  readonly device: string;
  readonly allocatedBytes: number | undefined;
  readonly peakBytes: number | undefined;
  readonly reservedBytes: number | undefined;
  readonly bins: readonly AllocatorBin[];
}

/** Reads a memory summary. Each row has the current value, the peak, and the totals allocated and freed. */
function readSummary(text: string): CudaSummary | undefined {
  let start = text.lastIndexOf(summaryText);
  while (start >= 0 && !isDigit(text[start + summaryText.length]))
    start = start === 0 ? -1 : text.lastIndexOf(summaryText, start - 1);
  if (start < 0) return undefined;
  const [device = "0"] = /^\d{1,4}/.exec(text.slice(start + summaryText.length, start + summaryText.length + 4)) ?? [];
  const rows = new Map<string, readonly string[]>();
  let metric = "";
  for (const line of text.slice(start).split(/\r?\n/).slice(1)) {
    if (line.includes("PyTorch CUDA memory summary")) break;
    const cells = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (cells.length !== 5) continue;
    if (!cells[0].startsWith("from ")) metric = cells[0];
    rows.set(cells[0] === metric ? metric : `${metric} ${cells[0]}`, cells.slice(1));
  }
  const now = (row: string): number | undefined => readSize(rows.get(row)?.[0] ?? "");
  const bins = ["large pool", "small pool"].flatMap((pool) => {
    const [inUseBytes, reservedBytes] = [now(`Allocated memory from ${pool}`), now(`GPU reserved memory from ${pool}`)];
    return inUseBytes === undefined || reservedBytes === undefined
      ? []
      : [
          {
            name: pool,
            chunks: undefined,
            chunksInUse: countOf(rows.get(`Allocations from ${pool}`)?.[0]),
            inUseBytes,
            reservedBytes,
          },
        ];
  });
  return {
    device,
    allocatedBytes: now("Allocated memory"),
    peakBytes: readSize(rows.get("Allocated memory")?.[1] ?? ""),
    reservedBytes: now("GPU reserved memory"),
    bins,
  };
}

/** Parses a count such as `42`, `3 K` or `1 M`. */
function countOf(cell: string | undefined): number | undefined {
  const [, count, unit] = /^(\d{1,15})\s{0,4}([KM]?)$/.exec(cell ?? "") ?? [];
  return count === undefined ? undefined : Number(count) * { "": 1, K: 1e3, M: 1e6 }[unit as "" | "K" | "M"];
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}
