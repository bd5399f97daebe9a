import { type AllocatorBin, type AllocatorLog, allocatorLog } from "./allocator-log.js";
import { readSize } from "./size-in-text.js";

const summaryText = "PyTorch CUDA memory summary, device ID ";

/**
 * Reads the last output of `torch.cuda.memory_summary()`. Returns undefined if the log has none. Takes time linear in the
 * length of the log. The format is that of torch's `cuda/memory.py`.
 *
 * @throws RematError `ALLOCATOR_LOG` for sizes that no allocator can have
 * @internal
 */
export function readCudaSummary(text: string): AllocatorLog | undefined {
  const summary = readSummary(text);
  if (summary === undefined) return undefined;
  const { device, allocatedBytes, reservedBytes, peakBytes, bins } = summary;
  return allocatorLog({
    kind: "cuda",
    name: `GPU ${device}`,
    memory: "device",
    inUseBytes: allocatedBytes,
    pooledBytes:
      reservedBytes === undefined || allocatedBytes === undefined
        ? undefined
        : Math.max(0, reservedBytes - allocatedBytes),
    peakBytes,
    bins,
    truncated: reservedBytes === undefined,
  });
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
