import { type AllocatorBin, type AllocatorLog, readSize } from "./allocator-log.js";

const size = String.raw`([\d.]+ (?:bytes|[KMGTPE]iB))`;

/**
 * Reads what PyTorch says when its caching allocator of CUDA, ROCm or XPU has no memory left, and what `torch.cuda.memory_summary()` prints, where either is there: the last of each. Undefined of a log in which
 * neither is. Source of the formats: `format_size` and the error in c10's `CUDACachingAllocator.cpp`, from release 0.4 on, and torch's `cuda/memory.py`.
 */
export function readCudaLog(text: string): AllocatorLog | undefined {
  const at = [...text.matchAll(/\b(?:CUDA|HIP|XPU) out of memory\./g)].at(-1)?.index;
  const isError = at !== undefined;
  const error = isError ? text.slice(at) : "";
  const summary = readSummary(text);
  if (!isError && summary === undefined) return undefined;
  const said = (pattern: string): number | undefined => {
    const found = isError ? new RegExp(pattern).exec(error.replaceAll(/\s+/g, " ")) : null;
    return found?.[1] === undefined ? undefined : readSize(found[1]);
  };
  const [, device = "?"] = /GPU (\d+)/.exec(error) ?? [];
  const limitBytes = said(`total capaci?ty of ${size}`) ?? said(`${size} total capacity`);
  const inUseBytes =
    said(`${size} is allocated by PyTorch`) ?? said(`${size} already allocated`) ?? summary?.allocatedBytes;
  const reserved = said(`${size} reserved in total by PyTorch`) ?? summary?.reservedBytes;
  const pooledBytes =
    said(`${size} is reserved by PyTorch but unallocated`) ??
    said(`${size} cached\\)`) ??
    (reserved === undefined || inUseBytes === undefined ? undefined : Math.max(0, reserved - inUseBytes));
  const availableBytes = said(`of which ${size} is free`) ?? said(`${size} free;`);
  const known =
    limitBytes !== undefined && inUseBytes !== undefined && pooledBytes !== undefined && availableBytes !== undefined;
  return {
    kind: "cuda",
    name: `GPU ${isError ? device : (summary?.device ?? device)}`,
    askedBytes: said(`Tried to allocate ${size}`),
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

interface CudaSummary {
  readonly device: string;
  readonly allocatedBytes: number | undefined;
  readonly peakBytes: number | undefined;
  readonly reservedBytes: number | undefined;
  readonly bins: readonly AllocatorBin[];
}

/** A row has what is there now, the most that was, and what was allocated and freed in all. */
function readSummary(text: string): CudaSummary | undefined {
  const starts = [...text.matchAll(/PyTorch CUDA memory summary, device ID (\d+)/g)];
  const start = starts.at(-1);
  if (start === undefined) return undefined;
  const rows = new Map<string, readonly string[]>();
  let metric = "";
  for (const line of text.slice(start.index).split(/\r?\n/).slice(1)) {
    if (/PyTorch CUDA memory summary/.test(line)) break;
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
    device: start[1],
    allocatedBytes: now("Allocated memory"),
    peakBytes: readSize(rows.get("Allocated memory")?.[1] ?? ""),
    reservedBytes: now("GPU reserved memory"),
    bins,
  };
}

/** `42`, `3 K`, `1 M`. */
function countOf(cell: string | undefined): number | undefined {
  const [, count, unit] = /^(\d+)\s*([KM]?)$/.exec(cell ?? "") ?? [];
  return count === undefined ? undefined : Number(count) * { "": 1, K: 1e3, M: 1e6 }[unit as "" | "K" | "M"];
}
