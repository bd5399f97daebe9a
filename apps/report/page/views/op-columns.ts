import {
  formatBytes,
  formatPercent,
  OpMark,
  opFateNames,
  opMarkNames,
  planFateLabels,
  planFateNames,
} from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import { timeFormatOf } from "../../src/data/time-format-of.js";
import type { Overview, PlanAnswer } from "../engine/answers.js";
import { downloadCsv } from "../interaction/download-csv.js";
import type { PageState } from "../state.js";
import { fateLabels } from "./budget.js";
import type { ShownPolicy } from "./policy-feed.js";

interface Source {
  readonly overview: Overview;
  readonly policy: ShownPolicy;
  /** The plan that the step is shown under, or undefined if it is shown as recorded. */
  readonly plan: PlanAnswer | undefined;
}

/** A column of the ops table: those of PyTorch's tables, and the fate under a policy. */
export interface OpColumn {
  readonly key: PageState["sort"];
  readonly label: string;
  readonly title: string;
  readonly isNumber: boolean;
  readonly text: (source: Source, op: number) => string;
}

const flags: readonly (readonly [bit: number, short: string])[] = [
  [OpMark.view, "view"],
  [OpMark.random, "random"],
  [OpMark.inPlace, "in-place"],
  [OpMark.savedByAutograd, "saved"],
];

const planColumn: OpColumn = {
  key: "plan",
  label: "Plan",
  title: "Decision of the shown plan about its results",
  isNumber: false,
  text: ({ plan }, op) => {
    const times = plan?.recomputations[op] ?? 0;
    return `${planFateLabels[planFateNames[plan?.fates[op] ?? 0]]}${times > 1 ? ` ${times} ×` : ""}`;
  },
};

/** Returns the available columns. The column for plans is included only if there are plans. */
export function columnsOf({ meta }: Overview): readonly OpColumn[] {
  return meta.followed.length === 0 ? columns : [...columns, planColumn];
}

const columns: readonly OpColumn[] = [
  { key: "op", label: "Op", title: "Number in execution order", isNumber: true, text: (_source, op) => String(op) },
  {
    key: "name",
    label: "Name",
    title: "Kernel or operator",
    isNumber: false,
    text: ({ overview: { ops, names } }, op) => names[ops.name[op]],
  },
  {
    key: "module",
    label: "Module",
    title: "Innermost module",
    isNumber: false,
    text: ({ overview: { ops, modules } }, op) => (ops.module[op] < 0 ? "" : modules[ops.module[op]]),
  },
  {
    key: "phase",
    label: "Phase",
    title: "Forward, backward, …",
    isNumber: false,
    text: ({ overview: { ops } }, op) => phaseNames[ops.phase[op]],
  },
  {
    key: "memoryBytes",
    label: "Memory",
    title: "Memory of its new results",
    isNumber: true,
    text: ({ overview: { ops } }, op) => (ops.memoryBytes[op] > 0 ? formatBytes(ops.memoryBytes[op]) : "–"),
  },
  {
    key: "runtimeMs",
    label: "Time",
    title: "Runtime",
    isNumber: true,
    text: ({ overview: { ops, meta } }, op) => {
      const ms = ops.runtimeMs[op];
      return ms > 0 && ms < 1e-5 ? "< 0.01 µs" : ms >= 0 ? timeFormatOf(meta)(ms) : "–";
    },
  },
  {
    key: "msps",
    label: "MSPS",
    title: "Memory freed per second of recomputation",
    isNumber: true,
    text: ({ policy }, op) => {
      const msps = policy.columns?.msps[op] ?? Number.NaN;
      return Number.isNaN(msps) ? "–" : msps > 1e300 ? "∞" : `${formatBytes(Math.round(msps * 1000))}/s`;
    },
  },
  {
    key: "freed",
    label: "Freed",
    title: "Share of the module's memory that is freed up to here in greedy order",
    isNumber: true,
    text: ({ policy }, op) => shareText(policy.columns?.freed[op]),
  },
  {
    key: "freed",
    label: "Recomputed",
    title: "Share of the module's forward pass that is recomputed up to here",
    isNumber: true,
    text: ({ policy }, op) => shareText(policy.columns?.recomputed[op]),
  },
  {
    key: "fate",
    label: "Policy",
    title: "Decision under the budget",
    isNumber: false,
    text: ({ overview: { ops }, policy }, op) => {
      const fate = policy.fate?.[op] ?? 255;
      const marks = flags.flatMap(([bit, short]) => ((ops.marks[op] & bit) !== 0 ? [short] : []));
      const label = fate === 255 ? "" : fateLabels[opFateNames[fate]].toLowerCase();
      return [label, ...marks].filter(Boolean).join(", ");
    },
  },
];

function shareText(share: number | undefined): string {
  return share === undefined || Number.isNaN(share) ? "–" : formatPercent(share);
}

function known(value: number | undefined): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}

/** Saves all rows of the table in their order. */
export function exportOpsCsv({ overview, policy, plan }: Source, rows: Int32Array): void {
  const { ops, names, modules, meta } = overview;
  const headers = [
    "op",
    "name",
    "module",
    "phase",
    "memoryBytes",
    "runtimeMs",
    "bytesPerMs",
    "freedShare",
    "recomputedShare",
    "policy",
    ...["viewLike", "random", "inPlace", "savedByAutograd", "inPlaceParent"],
    "marks",
    ...(plan === undefined ? [] : ["plan"]),
  ];
  downloadCsv(`${meta.title}-ops.csv`, headers, rows.length, (at) => {
    const op = rows[at];
    const msps = policy.columns?.msps[op] ?? Number.NaN;
    const fate = policy.fate?.[op] ?? 255;
    return [
      op,
      names[ops.name[op]],
      ops.module[op] < 0 ? "" : modules[ops.module[op]],
      phaseNames[ops.phase[op]],
      ops.memoryBytes[op],
      ops.runtimeMs[op],
      msps < Number.MAX_VALUE ? msps : undefined,
      known(policy.columns?.freed[op]),
      known(policy.columns?.recomputed[op]),
      fate === 255 ? "" : opFateNames[fate],
      ...flags.map(([bit]) => (ops.marks[op] & bit) !== 0),
      policy.columns !== undefined && policy.columns.inPlaceParent[op] >= 0
        ? policy.columns.inPlaceParent[op]
        : undefined,
      opMarkNames(ops.marks[op]).join(" "),
      ...(plan === undefined ? [] : [planFateNames[plan.fates[op]]]),
    ];
  });
}
