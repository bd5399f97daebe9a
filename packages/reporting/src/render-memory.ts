import { formatBytes as formatInUnit, type MemoryUnit, type ModuleMemory } from "@remat/mem-tracker";
import type { MemoryMoment } from "@remat/memory";
import { formatTable } from "@remat/text-table";
import { formatPercent } from "./format-quantity.js";
import { joinParts } from "./join-parts.js";
import type { OutputFormat } from "./render-sac.js";
import type { MemorySummary } from "./summarize-memory.js";
import { writeCsv } from "./write-csv.js";

export interface RenderMemoryOptions {
  /** Unit of all sizes; MiB if not given. */
  readonly units?: MemoryUnit;
  /** Modules of up to this many name components are shown; 2 if not given. */
  readonly depth?: number;
  /** Also every module's snapshots by state, as PyTorch prints them. */
  readonly snapshots?: boolean;
}

/**
 * Returns a memory summary as text: the moment by category, the largest storages with who made them, the modules. `csv`: a row for each storage that is
 * alive and listed; `json`: all of it in bytes, with the timeline.
 */
export function renderMemorySummary(
  summary: MemorySummary,
  format: OutputFormat,
  options: RenderMemoryOptions = {},
): string {
  const units = options.units ?? "MiB";
  const depth = options.depth ?? 2;
  if (format === "json") return `${JSON.stringify(memorySummaryJson(summary, depth), undefined, 2)}\n`;
  if (format === "csv") return largestCsv(summary.moment);
  const table = (headers: readonly string[], rows: readonly (readonly string[])[]): string =>
    formatTable(rows, { headers, format: format === "table" ? "rst" : format === "md" ? "markdown" : "plain" });
  const heading = (title: string): string => (format === "md" ? `## ${title}` : title);
  const size = (bytes: number): string => formatInUnit(bytes, units);
  const { moment, trace, notes, tracker } = summary;
  // A sharded module's own tensors come and go; what counts are its states.
  const own = summary.simulation === undefined ? ownColumns : [];
  const { header } = trace;
  const lines = [
    `${header.model ?? "model"}: ${header.framework}${header.frameworkVersion === undefined ? "" : ` ${header.frameworkVersion}`}, ${header.mode}${header.backend === undefined ? "" : ` ${header.backend} backend`}, device ${moment.device}; allocations in units of ${header.allocationUnitBytes} B`,
    `peak ${size(summary.peakBytes)}${summary.place === "peak" ? "" : `; ${summary.place} ${size(moment.totalBytes)}`}${moment.at === undefined ? "" : `, in ${describeOp(moment)}`}`,
    ...(summary.simulation?.plan.cpuOffload ? offloaded(summary, size).map((held) => `offloaded: ${held}`) : []),
    ...notes.map((note) => `note: ${note}`),
  ];
  const parts = [
    lines.join("\n"),
    `${heading(`Held at the ${summary.place === "peak" ? "peak" : "moment"}, by category`)}\n\n${table(
      ["Category", "Size", "Share"],
      [
        ...Object.entries(moment.bytesByCategory)
          .sort(([, a], [, b]) => b - a)
          .map(([category, bytes]) => [
            category,
            size(bytes),
            formatPercent(moment.totalBytes === 0 ? 0 : bytes / moment.totalBytes),
          ]),
        ["total", size(moment.totalBytes), formatPercent(1)],
      ],
    )}`,
    `${heading(`The largest of ${moment.storageCount} storages alive then`)}\n\n${table(
      ["Size", "Category", "Shape", "Made by", "Op", "In module"],
      moment.largest.map((storage) => [
        size(storage.bytes),
        storage.category,
        storage.shape === undefined ? "" : `${storage.dtype ?? ""} [${storage.shape.join(", ")}]`,
        storage.maker?.opName ?? "(not by an op)",
        storage.maker === undefined ? "" : String(storage.maker.op),
        storage.maker?.module ?? "",
      ]),
    )}`,
    `${heading("Modules")}\n\n${table(
      ["Module", "Kind", ...own.map(([name]) => name), "Peak forward", "Peak backward"],
      modulesOf(tracker, depth).map((module) => [
        module.fqn,
        module.kind,
        ...own.map(([, bytes]) => size(bytes(module))),
        ...["peakForward", "peakBackward"].map((state) => sizeOr(peakIn(module, state, moment.device), size)),
      ]),
    )}`,
  ];
  if (options.snapshots)
    parts.push(
      `${heading("Snapshots")}\n\n${fence(tracker.displayModulewiseSnapshots(depth, units, format !== "plain"), format)}`,
    );
  return joinParts(parts);
}

type Module = ModuleMemory<string>;

const ownColumns: readonly (readonly [name: string, bytes: (module: Module) => number])[] = [
  ["Parameters", (module) => module.parameterBytes],
  ["Buffers", (module) => module.bufferBytes],
  ["Inputs", (module) => module.inputBytes],
  ["Outputs", (module) => module.outputBytes],
  ["Gradients", (module) => module.gradientBytes],
];

function modulesOf(tracker: MemorySummary["tracker"], depth: number): readonly Module[] {
  return (tracker.modules() as readonly Module[]).filter(({ fqn }) => fqn.split(".").length <= depth);
}

/** Most bytes on `device` over all passes of `module` in a state; undefined where it was never in it. */
function peakIn(module: Module, state: string, device: string): number | undefined {
  const totals = (module.snapshots.get(state) ?? []).flatMap((call) =>
    call.filter((snapshot) => snapshot.device === device),
  );
  return totals.length === 0 ? undefined : Math.max(...totals.map((snapshot) => snapshot.totalBytes));
}

function offloaded({ tracker, moment }: MemorySummary, size: (bytes: number) => string): readonly string[] {
  return tracker
    .snapshot("peak")
    .filter(({ device }) => device !== moment.device)
    .map(({ device, totalBytes }) => `at most ${size(totalBytes)} on device ${device}`);
}

function sizeOr(bytes: number | undefined, size: (bytes: number) => string): string {
  return bytes === undefined ? "" : size(bytes);
}

function describeOp({ at }: MemoryMoment): string {
  if (at === undefined) return "";
  return `op ${at.op} ${at.opName} (${at.phase}${at.module === undefined ? "" : ` of ${at.module}`})`;
}

function fence(body: string, format: string): string {
  return format === "md" ? `\`\`\`\n${body.trimEnd()}\n\`\`\`` : body;
}

function largestCsv({ largest }: MemoryMoment): string {
  return writeCsv(
    ["storage", "bytes", "category", "dtype", "shape", "madeBy", "op", "phase", "module"],
    largest.map(({ storage, bytes, category, dtype, shape, maker }) => [
      storage,
      bytes,
      category,
      dtype,
      shape?.join("x"),
      maker?.opName,
      maker?.op,
      maker?.phase,
      maker?.module,
    ]),
  );
}

/** Returns a memory summary as plain data: bytes as allocated, a timeline point for each op. */
export function memorySummaryJson(summary: MemorySummary, depth: number): unknown {
  const { trace, moment, timeline, tracker, simulation } = summary;
  return {
    header: trace.header,
    ...(trace.truncated && { truncated: trace.truncated }),
    ...(simulation && { sharding: simulation.plan }),
    notes: summary.notes,
    peakBytes: summary.peakBytes,
    place: summary.place,
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
