import type { AllocatorLog, StoragesOfSize } from "@remat/memory/failure";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { AllocatorReport, AllocatorSummary } from "./allocator-facts.js";

/** Tables list at most this many sizes. Records for spreadsheets contain all sizes. */
const sizesTold = 12;

/**
 * Returns a report on an allocator's log: its chunks by size and bin, and, if a trace is available, the storages that
 * they match. The records have one row for each size.
 */
export function allocatorDocument(
  { log, verdict, storages, requested, others = [] }: AllocatorSummary,
  units?: SizeUnit,
): OutputDocument {
  const size = sizeFormat(units);
  const json = (report: AllocatorReport): object => ({ cause: report.verdict, ...report.log });
  return {
    parts: () => [
      ...bufferParts(log, size),
      ...sizeParts(log, size),
      ...binParts(log, size),
      ...storageParts(storages, size),
    ],
    records: () => ({
      columns: ["bytes", "inUse", "free"],
      rows: log.sizes.map(({ bytes, inUse, free }) => [bytes, inUse, free]),
    }),
    value: () => ({
      ...json({ log, verdict }),
      ...(storages && { storages }),
      ...(requested && { requested }),
      ...(others.length > 0 && { reports: [...others, { log, verdict }].map(json) }),
    }),
  };
}

/** Tables list at most this many buffers. */
const buffersTold = 12;

function bufferParts({ program }: AllocatorLog, size: SizeFormat): readonly DocumentPart[] {
  const { buffers = [] } = program ?? {};
  if (buffers.length === 0) return [];
  return [
    {
      kind: "table",
      title: "Largest buffers of the compiled program",
      headers: ["Size", "Tensor", "Op", "At"],
      rows: buffers
        .toSorted((a, b) => b.bytes - a.bytes)
        .slice(0, buffersTold)
        .map(({ bytes, shape = "", op = "", line = "" }) => [size(bytes), shape, op, line]),
      names: ["Op", "At"],
    },
  ];
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
