import type { MemoryMoment } from "@remat/memory";
import type { ReservedMemory } from "@remat/memory/reserved";
import type { ModuleMemory, ModuleState } from "@remat/memory/tracker";
import { FSDPMemTracker, type FsdpModuleState } from "@remat/sharding";
import { categoryLabels } from "../category-colours.js";
import type { DocumentPart, DocumentRecords, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { MeasuredMemory, MemorySummary } from "../summarize-memory.js";
import { categoriesTable } from "./categories-table.js";
import { largestTable } from "./largest-table.js";

/** Options of a memory report. */
export interface MemoryDocumentOptions {
  /**
   * Unit of all sizes. Default: a suitable unit for each size, except that snapshots are in MiB as PyTorch prints
   * them.
   */
  readonly units?: SizeUnit;
  /** Modules of up to this many name components are shown (2 by default). */
  readonly depth?: number;
  /** True to include every module's snapshots by state, as PyTorch prints them. */
  readonly snapshots?: boolean;
}

/**
 * Returns a memory report: memory at a moment by category, the largest storages with their allocation sites, and the
 * modules. The records have one row for each listed storage. The JSON value has everything in bytes, including the
 * timeline.
 */
export function memoryDocument(
  summary: MemorySummary,
  { units = "auto", depth = 2, snapshots = false }: MemoryDocumentOptions = {},
): OutputDocument {
  const size = sizeFormat(units);
  return {
    parts: () => [
      { kind: "text", lines: describeMemory(summary, size) },
      ...reservedTable(summary, size),
      categoriesTable({ ...summary.moment, peakBytes: summary.moment.totalBytes, place: summary.place }, size),
      largestTable(summary.moment, size),
      ...(modulesOf(summary.tracker, depth).length === 0 ? [] : [modulesTable(summary, depth, size)]),
      ...(snapshots ? [snapshotListing(summary, depth, units)] : []),
    ],
    records: () => largestRecords(summary.moment),
    value: () => memorySummaryJson(summary, depth),
  };
}

function describeMemory(summary: MemorySummary, size: SizeFormat): readonly string[] {
  const { moment, trace, notes } = summary;
  const { header } = trace;
  return [
    `${header.model ?? "model"}: ${header.framework}${header.frameworkVersion === undefined ? "" : ` ${header.frameworkVersion}`}, ${header.mode}${header.backend === undefined ? "" : ` ${header.backend} backend`}, ${header.mode === "fake" ? "traced" : "recorded"} on ${moment.device}; allocation unit ${header.allocationUnitBytes} B`,
    `${summary.place === "peak" ? `peak memory ${size(summary.peakBytes)}` : `memory ${summary.place} ${size(moment.totalBytes)}, peak ${size(summary.peakBytes)}`}${moment.at === undefined ? "" : `, in ${describeOp(moment)}`}`,
    ...heldElsewhere(summary, size),
    ...notes.map((note) => `note: ${note}`),
  ];
}

/**
 * Returns a table of the memory that PyTorch's allocator allocates and reserves, next to measured values if there are
 * any.
 */
function reservedTable({ reserved, measured }: MemorySummary, size: SizeFormat): readonly DocumentPart[] {
  if (reserved === undefined) return [];
  const row = (name: string, field: keyof MeasuredMemory): string[] => [
    name,
    size(reserved[field]),
    ...(measured === undefined ? [] : [size(measured[field])]),
  ];
  return [
    {
      kind: "table",
      title: "CUDA caching allocator, peak",
      headers: ["", "Predicted", ...(measured === undefined ? [] : ["Measured"])],
      rows: [row("allocated", "allocatedPeakBytes"), row("reserved", "reservedPeakBytes")],
    },
  ];
}

function modulesTable({ moment, tracker }: MemorySummary, depth: number, size: SizeFormat): DocumentPart {
  // The tensors that a sharded module owns change all the time. Its states are what matters.
  const own = tracker instanceof FSDPMemTracker ? [] : ownColumns;
  return {
    kind: "table",
    title: "Modules",
    headers: ["Module", "Kind", ...own.map(([name]) => name), "Peak forward", "Peak backward"],
    worth: [9, 2, ...own.map(([, , worth]) => worth), 7, 8],
    rows: modulesOf(tracker, depth).map((module) => [
      module.fqn,
      module.kind,
      ...own.map(([, bytes]) => size(bytes(module))),
      ...(["peakForward", "peakBackward"] as const).map((state) => sizeOr(peakIn(module, state, moment.device), size)),
    ]),
  };
}

function snapshotListing({ tracker }: MemorySummary, depth: number, units: SizeUnit): DocumentPart {
  return {
    kind: "listing",
    title: "Snapshots",
    text: (isGrid) => tracker.displayModulewiseSnapshots(depth, units === "auto" ? "MiB" : units, isGrid),
  };
}

type ModuleMemoryState = ModuleState | FsdpModuleState;
type Module = ModuleMemory<ModuleMemoryState>;

const ownColumns: readonly (readonly [name: string, bytes: (module: Module) => number, worth: number])[] = [
  [categoryLabels.parameter, (module) => module.parameterBytes, 6],
  [categoryLabels.buffer, (module) => module.bufferBytes, 0],
  [categoryLabels.input, (module) => module.inputBytes, 1],
  ["Outputs", (module) => module.outputBytes, 4],
  [categoryLabels.gradient, (module) => module.gradientBytes, 3],
];

function modulesOf(tracker: MemorySummary["tracker"], depth: number): readonly Module[] {
  return (tracker.modules() as readonly Module[]).filter(({ fqn }) => fqn.split(".").length <= depth);
}

/**
 * Returns the highest bytes on `device` over all passes of `module` in a state, or undefined if the module was never in
 * that state.
 */
function peakIn(module: Module, state: ModuleMemoryState, device: string): number | undefined {
  const totals = (module.snapshots.get(state) ?? []).flatMap((call) =>
    call.filter((snapshot) => snapshot.device === device),
  );
  return totals.length === 0 ? undefined : Math.max(...totals.map((snapshot) => snapshot.totalBytes));
}

/**
 * Returns the peak memory of other devices. It affects neither the reported peak nor whether the step fits. The host
 * counts only if a plan offloads to it.
 */
function heldElsewhere({ tracker, moment, simulation }: MemorySummary, size: SizeFormat): readonly string[] {
  const isOffloaded = simulation?.plan.cpuOffload === true;
  return tracker
    .snapshot("peak")
    .filter(({ device }) => device !== moment.device && (isOffloaded || device !== "cpu"))
    .map(
      ({ device, totalBytes }) =>
        `${isOffloaded ? "offloaded" : "other devices"}: peak memory ${size(totalBytes)} on ${device}`,
    );
}

function sizeOr(bytes: number | undefined, size: SizeFormat): string {
  return bytes === undefined ? "" : size(bytes);
}

function describeOp({ at }: MemoryMoment): string {
  if (at === undefined) return "";
  return `op ${at.op} ${at.opName} (${at.phase}${at.module === undefined ? "" : ` of ${at.module}`})`;
}

function largestRecords({ largest }: MemoryMoment): DocumentRecords {
  return {
    columns: ["storage", "bytes", "category", "dtype", "shape", "madeBy", "op", "phase", "module", "scratchPieces"],
    rows: largest.map(({ storage, bytes, category, dtype, shape, maker, owner, scratchPieces }) => [
      storage,
      bytes,
      category,
      dtype,
      shape?.join("x"),
      maker?.opName,
      maker?.op,
      maker?.phase,
      owner ?? maker?.module,
      scratchPieces,
    ]),
  };
}

/**
 * Returns a memory summary as plain data: bytes rounded up to the allocation unit, and one timeline point for each op.
 */
export function memorySummaryJson(summary: MemorySummary, depth: number): unknown {
  const { trace, moment, timeline, tracker, simulation } = summary;
  return {
    header: trace.header,
    ...(trace.truncated && { truncated: trace.truncated }),
    ...(simulation && { sharding: simulation.plan }),
    notes: summary.notes,
    peakBytes: summary.peakBytes,
    place: summary.place,
    ...(summary.reserved && { reserved: reservedJson(summary.reserved) }),
    ...(summary.measured && { measured: summary.measured }),
    moment,
    snapshots: { current: tracker.snapshot("current"), peak: tracker.snapshot("peak") },
    modules: modulesOf(tracker, depth).map((module) => ({
      ...module,
      snapshots: Object.fromEntries(module.snapshots),
    })),
    timeline: {
      device: timeline.device,
      totalBytes: Array.from(timeline.totalBytes),
      highestBytes: Array.from(timeline.highestBytes),
      bytesByCategory: Object.fromEntries(
        Array.from(timeline.bytesByCategory, ([name, bytes]) => [name, Array.from(bytes)]),
      ),
    },
  };
}

function reservedJson({
  allocatedPeakBytes,
  reservedPeakBytes,
  allocatedBytes,
  reservedBytes,
}: ReservedMemory): unknown {
  return {
    allocatedPeakBytes,
    reservedPeakBytes,
    timeline: { allocatedBytes: Array.from(allocatedBytes), reservedBytes: Array.from(reservedBytes) },
  };
}
