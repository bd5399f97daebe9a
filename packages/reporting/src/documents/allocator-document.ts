import type { AllocatorLog, AllocatorVerdict, StoragesOfSize } from "@remat/memory/failure";
import { formatPercent } from "../format-quantity.js";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { Facts } from "../verdict/fact-lines.js";

/** An allocator's log and its analysis. */
export interface AllocatorSummary {
  readonly log: AllocatorLog;
  readonly verdict: AllocatorVerdict;
  /** The storages that have the sizes of chunks, if a trace is available. */
  readonly storages?: readonly StoragesOfSize[] | undefined;
}

/** Tables list at most this many sizes. Records for spreadsheets contain all sizes. */
const sizesTold = 12;

const againstFragments = {
  bfc: "Set TF_GPU_ALLOCATOR=cuda_malloc_async, so that the driver joins the pieces.",
  cuda: "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, so that the driver joins the pieces.",
} as const;

/** Explains why an allocator ran out of memory, and suggests a remedy. If there is a command to run, it is included. */
export function allocatorFacts(
  { log, verdict }: AllocatorSummary,
  { units, command }: { readonly units?: SizeUnit; readonly command?: string | undefined } = {},
): Facts {
  const size = sizeFormat(units);
  const facts = [
    describeAsked(log, size),
    describeHeld(log, size),
    ...describeFree(log, size),
    describeCause(log, verdict, size),
  ];
  return {
    facts: [
      ...facts.filter((fact) => fact !== undefined),
      ...(log.truncated ? ["The log is incomplete, so more memory may be in use."] : []),
      ...(command === undefined ? [] : ["To plan within the limit:", command]),
    ],
    command,
  };
}

/**
 * Returns a report on an allocator's log: its chunks by size and bin, and, if a trace is available, the storages that
 * they match. The records have one row for each size.
 */
export function allocatorDocument({ log, verdict, storages }: AllocatorSummary, units?: SizeUnit): OutputDocument {
  const size = sizeFormat(units);
  return {
    parts: () => [...sizeParts(log, size), ...binParts(log, size), ...storageParts(storages, size)],
    records: () => ({
      columns: ["bytes", "inUse", "free"],
      rows: log.sizes.map(({ bytes, inUse, free }) => [bytes, inUse, free]),
    }),
    value: () => ({ cause: verdict, ...log, ...(storages && { storages }) }),
  };
}

function describeAsked({ name, askedBytes, op, shape, dtype }: AllocatorLog, size: SizeFormat): string {
  const what = shape === undefined ? "" : ` (${dtype} [${shape.join(", ")}])`;
  const who = op === undefined ? "" : ` for ${op}`;
  return askedBytes === undefined
    ? `${name}: the log does not say how much was requested.`
    : `${name} could not allocate ${size(askedBytes)}${who}${what}.`;
}

function describeHeld(
  { limitBytes, inUseBytes, pooledBytes, availableBytes, othersBytes, peakBytes }: AllocatorLog,
  size: SizeFormat,
): string | undefined {
  const parts = [
    ...(inUseBytes === undefined ? [] : [`${size(inUseBytes)} in use`]),
    ...(pooledBytes === undefined ? [] : [`${size(pooledBytes)} free in its pool`]),
    ...(availableBytes === undefined ? [] : [`${size(availableBytes)} free elsewhere`]),
    ...(othersBytes === undefined || othersBytes === 0 ? [] : [`${size(othersBytes)} used by others`]),
  ];
  if (parts.length === 0) return undefined;
  const peak = peakBytes === undefined ? "" : `; peak use was ${size(peakBytes)}`;
  const limit = limitBytes === undefined ? "Memory" : `Memory (limit ${size(limitBytes)})`;
  return `${limit}: ${parts.join(", ")}${peak}.`;
}

function describeFree({ pooledBytes, largestFreeBytes, sizes }: AllocatorLog, size: SizeFormat): readonly string[] {
  if (largestFreeBytes === undefined || pooledBytes === undefined || pooledBytes === 0) return [];
  const pieces = sizes.reduce((sum, { free }) => sum + free, 0);
  const piece = pieces === 1 ? "one piece" : `${pieces} pieces, the largest ${size(largestFreeBytes)}`;
  return [
    `The free memory of the pool is in ${piece}: ${formatPercent(1 - largestFreeBytes / pooledBytes)} fragmentation.`,
  ];
}

function describeCause(log: AllocatorLog, verdict: AllocatorVerdict, size: SizeFormat): string {
  const { kind, askedBytes = 0, pooledBytes = 0, availableBytes = 0 } = log;
  const lacks = size(Math.max(0, askedBytes - pooledBytes - availableBytes));
  switch (verdict) {
    case "fragmented":
      return `The cause is fragmentation: enough memory is free, but not in one piece. ${againstFragments[kind]}`;
    case "shared":
      return `Other processes on the device use more than the missing ${lacks}. nvidia-smi lists them.`;
    case "full":
      return `Memory is full: ${lacks} more is needed. Fragmentation is not the cause.`;
    case "unknown":
      return "The log does not show whether memory was full or fragmented.";
  }
}

function sizeParts({ sizes }: AllocatorLog, size: SizeFormat): readonly DocumentPart[] {
  if (sizes.length === 0) return [];
  const bySum = sizes.toSorted((a, b) => b.bytes * (b.inUse + b.free) - a.bytes * (a.inUse + a.free));
  const rest = sizes.length - sizesTold;
  return [
    {
      kind: "table",
      title: "Chunks by size",
      headers: ["Size", "In use", "Free", "Total"],
      rows: bySum
        .slice(0, sizesTold)
        .map(({ bytes, inUse, free }) => [size(bytes), `${inUse}`, `${free}`, size(bytes * (inUse + free))]),
      ...(rest > 0 && { remark: `and ${rest} other ${rest === 1 ? "size" : "sizes"}` }),
    },
  ];
}

function binParts({ bins }: AllocatorLog, size: SizeFormat): readonly DocumentPart[] {
  if (bins.length === 0) return [];
  const count = (n: number | undefined): string => (n === undefined ? "" : `${n}`);
  return [
    {
      kind: "table",
      title: "Chunks by bin",
      headers: ["Bin", "Chunks", "Chunks in use", "Reserved", "In use"],
      rows: bins.map(({ name, chunks, chunksInUse, inUseBytes, reservedBytes }) => [
        name,
        count(chunks),
        count(chunksInUse),
        size(reservedBytes),
        size(inUseBytes),
      ]),
    },
  ];
}

function storageParts(storages: readonly StoragesOfSize[] | undefined, size: SizeFormat): readonly DocumentPart[] {
  if (storages === undefined) return [];
  return [
    {
      kind: "table",
      title: "Storages of these sizes at the trace's peak",
      headers: ["Chunk", "In use", "Storages", "Allocated by", "Tensor", "At"],
      rows: storages
        .slice(0, sizesTold)
        .map(({ bytes, chunks, storages: count, op = "", line = "", shape, dtype }) => [
          size(bytes),
          `${chunks}`,
          `${count}`,
          op,
          shape === undefined ? "" : `${dtype} [${shape.join(", ")}]`,
          line,
        ]),
      names: ["Allocated by", "At"],
    },
  ];
}
