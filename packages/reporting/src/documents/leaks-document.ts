import { HeldMemory, tellsLifetimes } from "@remat/memory";
import { type OutlivingStorages, outlivingStorages, type TraceGrowth } from "@remat/memory/growth";
import type { Trace, TraceHeader } from "@remat/trace";
import { formatBytes, formatDuration, formatNumber } from "@remat/trace/text";
import { describeShape } from "../describe-held.js";
import type { OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { Facts } from "../verdict/fact-lines.js";
import { labelDevice } from "../verdict/label-device.js";
import type { ViewTable } from "../view-table.js";

/** Storages that outlive the steps of a trace, and when memory will run out. */
export interface LeaksSummary {
  /** Memory that outlives the steps. Undefined if the trace does not record when storages are freed. */
  readonly growth: TraceGrowth | undefined;
  readonly framework: TraceHeader["framework"];
  /** The device whose memory fills up. */
  readonly device?: { readonly name: string; readonly memoryBytes: number } | undefined;
  /** Bytes in use at the end of the trace, on the trace's device. */
  readonly heldBytes: number;
  /** Time of one step in ms, or undefined if unknown. */
  readonly stepMs: number | undefined;
}

const none: TraceGrowth = { steps: 0, makers: [], before: undefined };

/** Number of lines that tables list. */
const linesTold = 20;
const fewestSteps = 5;

/**
 * Finds the storages that outlive the steps of a trace.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * leaksTable(summarizeLeaks(trace)).rows;
 */
export function summarizeLeaks(trace: Trace, device?: LeaksSummary["device"]): LeaksSummary {
  const growth = tellsLifetimes(trace) ? outlivingStorages(trace) : undefined;
  const held = new HeldMemory();
  held.take(trace);
  const { storages } = held;
  let heldBytes = 0;
  for (let s = 0; s < trace.storages.count; s++)
    if (storages.isAlive(s) && storages.devices[storages.device[s]] === trace.header.device)
      heldBytes += storages.bytes[s];
  let ms = 0;
  for (const each of trace.ops.runtimeMs) ms += each;
  const stepMs = ms > 0 ? ms / Math.max(1, growth?.steps ?? 1) : undefined;
  return { growth, framework: trace.header.framework, device, heldBytes, stepMs };
}

/** Returns whether memory grows over the steps of a trace. */
export function isGrowing({ growth }: Pick<LeaksSummary, "growth">): boolean {
  const { makers, before } = growth ?? none;
  return (before?.bytesPerStep ?? 0) > 0 || makers.some(({ verdict }) => verdict === "growing");
}

/** Storages of one line, op, shape and module that outlive their step, as views show them. */
export interface LeaksRow {
  readonly line: string;
  readonly op: string;
  readonly tensor: string;
  readonly module: string;
  readonly kind: string;
  readonly count: number;
  readonly bytes: number;
  /** Growth per step, as text, or empty if it does not grow. */
  readonly growth: string;
  readonly fix: string;
}

/**
 * Describes whether memory grows, how fast and until when. For a trace with few steps, describes the storages that the
 * steps leave behind.
 */
export function leaksFacts({ growth, device, heldBytes, stepMs }: LeaksSummary, units?: SizeUnit): Facts {
  const size = sizeFormat(units);
  if (growth === undefined)
    return {
      facts: ["The trace does not record when storages are freed, so leaks cannot be detected."],
    };
  const { steps, makers, before } = growth;
  const growing = makers.filter(({ verdict }) => verdict === "growing");
  const facts: string[] = [];
  const perStep = growing.reduce((sum, { bytesPerPeriod }) => sum + bytesPerPeriod, 0) || (before?.bytesPerStep ?? 0);
  if (growing.length > 0) {
    const count = growing.reduce((sum, { countPerPeriod }) => sum + countPerPeriod, 0);
    facts.push(
      `Memory grows by ${plural(round(count), "storage")} and ${size(Math.round(perStep))} per step (${steps} steps observed).`,
    );
  }
  if (before?.bytesPerStep !== undefined && before.bytesPerStep > 0)
    facts.push(
      `Memory in use between steps grew by ${size(Math.round(before.bytesPerStep))} per step over the ${before.stepsBefore} steps before this one.`,
    );
  if (perStep > 0 && device !== undefined) {
    const left = Math.max(0, Math.floor((device.memoryBytes - heldBytes) / perStep));
    const time = stepMs === undefined || stepMs <= 0 ? "" : `, in ${formatDuration(left * stepMs)} at this speed`;
    facts.push(
      `${size(device.memoryBytes)} (${labelDevice(device.name)}) will be full after ${formatNumber(left)} more steps${time}.`,
    );
  }
  if (facts.length > 0) return { facts };
  const count = makers.reduce((sum, maker) => sum + maker.count, 0);
  const bytes = makers.reduce((sum, maker) => sum + maker.bytes, 0);
  if (count === 0) return { facts: [`No leak: everything the ${steps <= 1 ? "step" : "trace"} allocates is freed.`] };
  if (steps >= fewestSteps)
    return {
      facts: [`No growth: after ${steps} steps, ${plural(count, "storage")} and ${size(bytes)} are still alive.`],
    };
  return {
    facts: [
      `${plural(count, "storage")} (${size(bytes)}) ${count === 1 ? "outlives" : "outlive"} the ${steps <= 1 ? "step" : "trace"} that allocated ${count === 1 ? "it" : "them"}.`,
      `${steps === 0 ? "A trace without an optimizer update" : plural(steps, "step")} cannot show whether they are freed later. Record ${fewestSteps} steps or more.`,
      "remat leaks -- PROGRAM watches all steps of a program.",
    ],
  };
}

/**
 * Returns the storages that outlive the steps of a trace: a table by line, then op, tensor and module. The records have
 * one row for each of these.
 */
export function leaksDocument(summary: LeaksSummary, units?: SizeUnit): OutputDocument {
  const { makers } = summary.growth ?? none;
  const size = sizeFormat(units);
  const table = leaksTable(summary);
  return {
    parts: () => {
      if (makers.length === 0) return [];
      const rows = byLine(makers);
      const rest = rows.length - linesTold;
      return [
        {
          kind: "table",
          title: "Tensors that outlive their step",
          headers: ["Line", "Op", "Tensor", "Module", "Kind", "Storages", "Memory", "Per step", "Fix"],
          rows: rows
            .slice(0, linesTold)
            .map((maker, i) => [
              i > 0 && rows[i - 1].line === maker.line ? "" : placeOf(maker),
              maker.op,
              describeShape(maker),
              maker.module ?? "",
              kindOf(maker),
              `${maker.count}`,
              size(maker.bytes),
              growthOf(maker, size),
              fixOf(maker, summary.framework),
            ]),
          worth: [9, 8, 5, 3, 6, 4, 7, 6, 2],
          names: ["Line", "Module"],
          wraps: "Fix",
          ...(rest > 0 && { remark: `and ${rest} more` }),
        },
      ];
    },
    records: () => ({ columns: table.columns, rows: table.rows }),
    value: () => ({ ...(summary.growth ?? none), grows: isGrowing(summary) }),
  };
}

/** Returns the rows of {@link leaksTable} for views that draw them themselves. */
export function leaksRows({ growth, framework }: Pick<LeaksSummary, "growth" | "framework">): readonly LeaksRow[] {
  return byLine((growth ?? none).makers).map((maker) => ({
    line: placeOf(maker),
    op: maker.op,
    tensor: describeShape(maker),
    module: maker.module ?? "",
    kind: kindOf(maker),
    count: maker.count,
    bytes: maker.bytes,
    growth: growthOf(maker, formatBytes),
    fix: fixOf(maker, framework),
  }));
}

/** Returns the storages that outlive the steps of a trace as plain values, in the order of {@link leaksDocument}. */
export function leaksTable({ growth, framework }: Pick<LeaksSummary, "growth" | "framework">): ViewTable {
  return {
    title: "Tensors that outlive their step",
    columns: ["line", "op", "tensor", "module", "kind", "count", "bytes", "countPerStep", "bytesPerStep", "fix"],
    rows: byLine((growth ?? none).makers).map((maker) => [
      maker.line,
      maker.op,
      describeShape(maker),
      maker.module,
      kindOf(maker),
      maker.count,
      maker.bytes,
      maker.countPerPeriod,
      maker.bytesPerPeriod,
      fixOf(maker, framework),
    ]),
  };
}

/** Groups allocation sites by line, and sorts each group by op. Lines are in the order of their first site. */
function byLine(makers: readonly OutlivingStorages[]): readonly OutlivingStorages[] {
  const groups = new Map<string, OutlivingStorages[]>();
  for (const maker of makers) {
    const key = maker.line ?? "";
    groups.set(key, [...(groups.get(key) ?? []), maker]);
  }
  return [...groups.values()].flatMap((group) => {
    const first = new Map<string, number>();
    for (const [i, { op }] of group.entries()) if (!first.has(op)) first.set(op, i);
    return group.toSorted((a, b) => first.get(a.op)! - first.get(b.op)!);
  });
}

const placeOf = ({ line }: OutlivingStorages): string => line ?? "(no line recorded)";

function kindOf({ verdict, category }: OutlivingStorages): string {
  return verdict === "too short" ? category : `${verdict}, ${category}`;
}

function growthOf({ verdict, countPerPeriod, bytesPerPeriod }: OutlivingStorages, size: SizeFormat): string {
  return verdict === "growing" ? `+${round(countPerPeriod)}, +${size(Math.round(bytesPerPeriod))}` : "";
}

function fixOf({ category }: OutlivingStorages, framework: string): string {
  const isTfjs = framework === "tfjs";
  switch (category) {
    case "parameter":
    case "buffer":
      return "none: it belongs to the model";
    case "optimizerState":
      return "none: the optimizer allocates it in its first step";
    case "gradient":
      return isTfjs ? "dispose of gradients after applying them" : "optimizer.zero_grad() frees it";
    default:
      return isTfjs ? "wrap it in tf.tidy(() => …), or dispose of it" : "keep its .item() or .detach(), not the tensor";
  }
}

const plural = (count: number | string, what: string): string => `${count} ${what}${Number(count) === 1 ? "" : "s"}`;
const round = (count: number): string => (Number.isInteger(count) ? `${count}` : count.toPrecision(2));
