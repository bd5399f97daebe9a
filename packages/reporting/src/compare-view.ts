import type { MemoryMoment } from "@remat/memory";
import { countSteps, msOfTimes } from "@remat/runtime-estimator";
import { categoryNames, type Trace, truncationNote } from "@remat/trace";
import type { ModuleTreeView } from "./module-tree-view.js";
import type { ViewTable } from "./view-table.js";

/** One side of a comparison. */
export interface ComparedRun {
  /** Display name: `predicted`, `measured`, or a file's name. */
  readonly name: string;
  /** The run itself. */
  readonly trace: Trace;
  /** Its modules, from `moduleTreeView`. */
  readonly modules: ModuleTreeView;
  /** The peak. Left out if memory is unknown, as in a trace without a backward pass. */
  readonly peak?: MemoryMoment | undefined;
}

/** A number on both sides, or undefined on a side that lacks it. */
export interface ComparedValue {
  /** The number on the first side. Undefined if that side lacks it. */
  readonly before: number | undefined;
  /** The number on the second side. Undefined if that side lacks it. */
  readonly after: number | undefined;
  /** `after - before`, or undefined unless both are present. */
  readonly difference: number | undefined;
  /** `difference / before`, or undefined if `before` is 0 or missing. */
  readonly ratio: number | undefined;
}

/** A compared quantity and its unit. */
export interface ComparedQuantity {
  /** Its name, such as `peak memory`, or a category. */
  readonly name: string;
  readonly unit: "ms" | "bytes" | "count";
  readonly value: ComparedValue;
}

/** A module that at least one side has. */
export interface ComparedModule {
  /** Fully qualified name. */
  readonly fqn: string;
  /** Class of the module. */
  readonly kind: string;
  readonly depth: number;
  readonly memoryBytes: ComparedValue;
  readonly savedBytes: ComparedValue;
  readonly forwardMs: ComparedValue;
  readonly backwardMs: ComparedValue;
}

/** Two runs side by side: totals, memory at the peak by category, modules. */
export interface CompareView {
  /** Name of the first run. */
  readonly before: string;
  /** Name of the second run. */
  readonly after: string;
  readonly totals: readonly ComparedQuantity[];
  /**
   * Bytes by category at each side's own peak, the largest first. Categories that are empty on both sides are left out.
   */
  readonly categories: readonly ComparedQuantity[];
  /** Modules by name, in the order of the first side. Modules that only the second side has come last. */
  readonly modules: readonly ComparedModule[];
  /**
   * Reasons why the two runs may not be the same step: a truncated trace, different models, different numbers of steps.
   */
  readonly notes: readonly string[];
}

/**
 * Returns two runs of a model side by side, in absolute numbers and as a ratio. The runs can be before and after a
 * change, on two devices, or predicted and measured. Modules are matched by fully qualified name.
 *
 * @example
 * const view = compareView({ name: "predicted", trace, modules, peak }, { name: "measured", trace: other, modules: otherModules });
 */
export function compareView(before: ComparedRun, after: ComparedRun): CompareView {
  const total = (name: string, unit: ComparedQuantity["unit"], read: (run: ComparedRun) => number | undefined) => ({
    name,
    unit,
    value: compared(read(before), read(after)),
  });
  const others = new Map(after.modules.nodes.map((node) => [node.fqn, node]));
  const known = new Set(before.modules.nodes.map((node) => node.fqn));
  const pairs = [
    ...before.modules.nodes.map((node) => [node, others.get(node.fqn)] as const),
    ...after.modules.nodes.filter((node) => !known.has(node.fqn)).map((node) => [undefined, node] as const),
  ];
  return {
    before: before.name,
    after: after.name,
    totals: [
      total("step", "ms", ({ modules: { totals } }) => msOfTimes(totals)),
      total("forward", "ms", ({ modules: { totals } }) => totals.forwardMs),
      total("backward", "ms", ({ modules: { totals } }) => totals.backwardMs),
      total("optimizer", "ms", ({ modules: { totals } }) => totals.optimizerMs),
      total("peak memory", "bytes", ({ peak }) => peak?.totalBytes),
      total("activations of modules", "bytes", ({ modules: { totals } }) => totals.memoryBytes),
      total("ops", "count", ({ trace }) => trace.ops.count),
    ],
    categories: categoryNames
      .map((category) => total(category, "bytes", ({ peak }) => peak && (peak.bytesByCategory[category] ?? 0)))
      .filter(({ value }) => larger(value) !== 0)
      .sort((a, b) => larger(b.value) - larger(a.value)),
    modules: pairs.map(([a, b]) => {
      const node = (a ?? b)!;
      return {
        fqn: node.fqn,
        kind: node.kind,
        depth: node.depth,
        memoryBytes: compared(a?.memoryBytes, b?.memoryBytes),
        savedBytes: compared(a?.savedBytes, b?.savedBytes),
        forwardMs: compared(a?.forwardMs, b?.forwardMs),
        backwardMs: compared(a?.backwardMs, b?.backwardMs),
      };
    }),
    notes: [
      ...[before, after].flatMap(({ name, trace }) => {
        const note = truncationNote(trace);
        return note === undefined ? [] : [`${name}: ${note}`];
      }),
      ...unlikeNotes(before, after, pairs.filter(([a, b]) => a !== undefined && b !== undefined).length),
    ],
  };
}

/**
 * Explains why two runs may not be of the same step. If they are not, their differences do not show the effect of a
 * change.
 */
function unlikeNotes(before: ComparedRun, after: ComparedRun, shared: number): readonly string[] {
  const notes: string[] = [];
  const counts = [before.modules.nodes.length, after.modules.nodes.length];
  const most = Math.max(...counts);
  if (Math.min(...counts) > 0 && shared < most / 2)
    notes.push(`${before.name} and ${after.name} are different models: they share ${shared} of ${most} modules`);
  const steps = [countSteps(before.trace), countSteps(after.trace)];
  if (Math.min(...steps) > 0 && steps[0] !== steps[1])
    notes.push(`${before.name} has ${counted(steps[0])} and ${after.name} has ${steps[1]}: totals cover all of them`);
  return notes;
}

const counted = (steps: number): string => `${steps} ${steps === 1 ? "step" : "steps"}`;

/** Returns a comparison as a table with one row for each number. */
export function compareTable(view: CompareView): ViewTable {
  const line = (scope: string, name: string, unit: string, { before, after, difference, ratio }: ComparedValue) => [
    scope,
    name,
    unit,
    before,
    after,
    difference,
    ratio,
  ];
  return {
    title: `${view.before} and ${view.after}`,
    columns: ["of", "quantity", "unit", "before", "after", "difference", "ratio"],
    rows: [
      ...view.totals.map(({ name, unit, value }) => line("step", name, unit, value)),
      ...view.categories.map(({ name, unit, value }) => line("peak", name, unit, value)),
      ...view.modules.flatMap((module) => [
        line(module.fqn, "memory", "bytes", module.memoryBytes),
        line(module.fqn, "saved by autograd", "bytes", module.savedBytes),
        line(module.fqn, "forward", "ms", module.forwardMs),
        line(module.fqn, "backward", "ms", module.backwardMs),
      ]),
    ],
  };
}

function larger({ before = 0, after = 0 }: ComparedValue): number {
  return Math.max(before, after);
}

function compared(before: number | undefined, after: number | undefined): ComparedValue {
  const both = before !== undefined && after !== undefined;
  return {
    before,
    after,
    difference: both ? after - before : undefined,
    ratio: both && before !== 0 ? (after - before) / before : undefined,
  };
}
