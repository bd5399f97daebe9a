import type { HostShare } from "@remat/memory/checkpointing";
import { formatEstimatedMs, formatMs, formatOverhead, formatPercent } from "../format-quantity.js";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import { describeEstimate } from "../time-quality.js";

/** A step's memory and time under a checkpointing policy. */
export interface CheckpointsPoint {
  readonly name: string;
  readonly peakBytes: number;
  readonly recomputeMs: number;
  readonly bookkeepingMs: number;
  /** Extra time as a fraction of the step without checkpointing. */
  readonly overhead: number;
}

/** A checkpointed module. */
export interface CheckpointsUnit {
  readonly name: string;
  /** Names of the ops whose results are saved, or empty if the whole module is recomputed. */
  readonly saved: readonly string[];
  /** Ranges of its ops that are recomputed on their own, or empty if the whole module is recomputed. */
  readonly parts: readonly (readonly [begin: number, end: number, kept?: readonly number[]])[];
  /** For each part, the module of its first op and the module of its last op. Left out if unknown. */
  readonly places?: readonly (readonly [from: string, to: string])[] | undefined;
}

/** A plan of checkpointed modules, for `torch.utils.checkpoint`. */
export interface CheckpointsSummary {
  readonly name: string;
  /** The device or method used to estimate op times, in words. */
  readonly pricedFor: string;
  /** True if a roofline model estimated the op times. */
  readonly isEstimated: boolean;
  readonly stepMs: number;
  /** How much of the host's time is part of the op times. */
  readonly host: HostShare;
  readonly budgetBytes: number | undefined;
  /** The step without checkpointing. */
  readonly plain: CheckpointsPoint;
  /** The step under the plan. Left out if no plan meets the budget. */
  readonly planned?: CheckpointsPoint | undefined;
  readonly units: readonly CheckpointsUnit[];
  /** The policy with the lowest peak of all that were tried. */
  readonly least: CheckpointsPoint;
  /** Manual checkpointing policies worth comparing with. */
  readonly byHand: readonly CheckpointsPoint[];
  /** Modules that cannot be checkpointed, with the reason. */
  readonly refused: ReadonlyMap<string, string>;
  readonly notes?: readonly string[];
}

/**
 * Returns a report on a plan of checkpointed modules: the step's memory and time in PyTorch next to manual policies,
 * and the modules to checkpoint. The records have one row for each policy.
 */
export function checkpointsDocument(summary: CheckpointsSummary, units?: SizeUnit): OutputDocument {
  const size = sizeFormat(units);
  const {
    name,
    pricedFor,
    isEstimated,
    stepMs,
    host,
    budgetBytes,
    plain,
    planned,
    least,
    byHand,
    refused,
    notes = [],
  } = summary;
  const time = isEstimated ? formatEstimatedMs : formatMs;
  const points = [plain, ...(planned ? [planned] : []), ...byHand, least];
  const row = (point: CheckpointsPoint) => [
    point.name === "stock" ? "baseline" : point.name,
    size(point.peakBytes),
    formatPercent(point.peakBytes / plain.peakBytes),
    time(stepMs + point.recomputeMs + point.bookkeepingMs),
    formatOverhead(point.overhead),
  ];
  const budget = budgetBytes === undefined ? "no budget" : `budget ${size(budgetBytes)}`;
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          `${name}: for torch.utils.checkpoint, ${isEstimated ? describeEstimate(pricedFor) : "measured times"}`,
          `${budget}; simulated as PyTorch does it, ${timesOf(host)}`,
          ...notes.map((note) => `note: ${note}`),
        ],
      },
      { kind: "table", headers: ["In PyTorch", "Peak", "Of baseline", "Step", "Overhead"], rows: points.map(row) },
      ...unitParts(summary),
      ...(refused.size === 0
        ? []
        : [
            {
              kind: "table" as const,
              title: "Cannot be checkpointed",
              headers: ["Module", "Reason"],
              rows: [...refused].map(([module, reason]) => [module, reason]),
            },
          ]),
    ],
    records: () => ({
      columns: ["name", "peakBytes", "recomputeMs", "bookkeepingMs", "overhead"],
      rows: points.map((p) => [p.name, p.peakBytes, p.recomputeMs, p.bookkeepingMs, p.overhead]),
    }),
    value: () => ({
      ...planned,
      name,
      executor: "torch-checkpoint",
      pricedFor,
      stepMs,
      budgetBytes,
      plain,
      least,
      byHand,
      modules: summary.units,
      refused: Object.fromEntries(refused),
      notes,
    }),
  };
}

function timesOf({ known, launchMs }: HostShare): string {
  if (known === "unknown") return "kernel time only: the wait for the host is unknown";
  const hooks = "including the time of its hooks";
  if (launchMs === undefined) return hooks;
  const perOp = `${known === "measured" ? "" : "assumed "}${formatMs(launchMs)} per op`;
  return `${hooks} while the device waits for the host (${perOp})`;
}

function unitParts({ units, planned }: CheckpointsSummary): DocumentPart[] {
  if (planned === undefined) return [];
  if (units.length === 0) return [{ kind: "text", lines: ["No module needs to be checkpointed."] }];
  return [
    {
      kind: "table",
      title: "Checkpointed modules",
      headers: ["Module", "Saved"],
      rows: units.map((unit) => [unit.name, savedOf(unit)]),
    },
  ];
}

function rangeOf([begin, end, kept = []]: CheckpointsUnit["parts"][number], place?: readonly [string, string]): string {
  const without = kept.length === 0 ? "" : `, without ${kept.join(" and ")}`;
  const ops = end - begin === 1 ? `op ${begin}` : `ops ${begin} to ${end - 1}`;
  if (place === undefined) return `${ops}${without}`;
  const [from, to] = place;
  return `${from === to ? `in ${from}` : `from ${from} to ${to}`} (${ops}${without})`;
}

function savedOf({ saved, parts, places }: CheckpointsUnit): string {
  if (parts.length > 0) return `all except ${parts.map((part, at) => rangeOf(part, places?.[at])).join(", ")}`;
  return saved.length === 0 ? "nothing" : saved.join(", ");
}
