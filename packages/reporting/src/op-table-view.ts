import { allocatedSizes } from "@remat/memory";
import { greedyOrder, opsTogether, type SACGreedyOrderMeta, type SACStats } from "@remat/sac-core";
import { OpFlag, phaseNames, row, type Trace } from "@remat/trace";
import type { ViewTable } from "./view-table.js";

/** Properties of a module's op that matter for checkpointing, one bit each in {@link OpTableView.marks}. */
export const OpMark = {
  view: 1,
  random: 2,
  inPlace: 4,
  savedByAutograd: 8,
  /** No policy may recompute it. */
  alwaysStored: 16,
  /** Every policy recomputes it, because that costs nothing: a view. */
  alwaysRecomputed: 32,
  /** Checkpointing ignores it. */
  skipped: 64,
} as const;

/** Ops in columns. Row i of every column is about the same op. Sizes are in bytes, times in ms. */
export interface OpTableView {
  readonly title: string;
  /** Number of rows. */
  readonly count: number;
  /** Index of the op in the trace. */
  readonly op: Int32Array;
  /** Name of each op. */
  readonly names: readonly string[];
  /** Phase of each op, as in `Trace.ops.phase`. */
  readonly phase: Uint8Array;
  readonly runtimeMs: Float64Array;
  readonly memoryBytes: Float64Array;
  /** Bits of {@link OpMark}. */
  readonly marks: Uint8Array;
  /** For an in-place op: the op of the trace whose result it changes, otherwise -1. */
  readonly inPlaceParent: Int32Array;
  /** Memory saved per recomputation time, in bytes per ms. NaN if the op is not a candidate of its own. */
  readonly msps: Float64Array;
  /** Position in the greedy order, from 0, or -1 if the op is not in that order. */
  readonly greedyPlace: Int32Array;
  /** For each row: innermost module of the op, as an index into `modules`. */
  readonly module: Int32Array;
  /** Fully qualified names that `module` refers to. */
  readonly modules: readonly string[];
}

/** Input of an op table: ops of a module, including those of its submodules, as given by `sacStats`. */
export interface OpTableOptions {
  readonly title: string;
  /** Statistics of the module, from `sacStats`. */
  readonly stats: SACStats;
  /** The greedy order. By default it is computed from `stats`. */
  readonly order?: SACGreedyOrderMeta;
  /** Shows only ops that ran in this module. Used for a leaf, which has no statistics of its own. */
  readonly within?: string;
}

/**
 * Returns the ops of a module with the facts that a policy depends on.
 *
 * @example
 * const view = opTableView(trace, { title: fqn, stats: sacStats(trace).get(fqn) });
 * opTableRows(view, { sort: { column: "memoryBytes", descending: true }, filter: "conv" });
 */
export function opTableView(trace: Trace, options: OpTableOptions): OpTableView {
  const { stats, within } = options;
  const order = options.order ?? greedyOrder(stats);
  const ofStack = modulesOfStacks(trace);
  const inside = within === undefined ? undefined : stacksWithin(trace, within);
  const shown: number[] = [];
  for (let i = 0; i < stats.ops.length; i++)
    if (inside === undefined || inside[trace.ops.stack[stats.ops[i]]] === 1) shown.push(i);
  const total = stats.ops.length;
  const marks = new Uint8Array(total);
  const msps = new Float64Array(total).fill(Number.NaN);
  const greedyPlace = new Int32Array(total).fill(-1);
  const parent = new Int32Array(total).fill(-1);
  const mark = (ops: Int32Array, bit: number): void => {
    for (const op of ops) marks[op] |= bit;
  };
  mark(stats.viewLikeOps, OpMark.view);
  mark(stats.randOps, OpMark.random);
  mark(stats.inplaceOps, OpMark.inPlace);
  mark(stats.savedAutogradOps, OpMark.savedByAutograd);
  mark(order.recomputedOps, OpMark.alwaysRecomputed);
  for (const head of order.storedOps) mark(opsTogether(order, head), OpMark.alwaysStored);
  stats.inplaceOps.forEach((op, i) => {
    parent[op] = stats.ops[stats.inplaceParents[i]];
  });
  const { mspsMeta } = order;
  for (let place = 0; place < mspsMeta.count; place++)
    for (const op of opsTogether(order, mspsMeta.opIdx[place])) {
      msps[op] = mspsMeta.msps[place];
      greedyPlace[op] = place;
    }
  const picked = Int32Array.from(shown);
  return {
    title: options.title,
    count: picked.length,
    op: picked.map((i) => stats.ops[i]),
    names: shown.map((i) => stats.funcNames[i]),
    phase: Uint8Array.from(picked, (i) => trace.ops.phase[stats.ops[i]]),
    runtimeMs: Float64Array.from(picked, (i) => stats.runtimesMs[i]),
    memoryBytes: Float64Array.from(picked, (i) => stats.memoryBytes[i]),
    marks: Uint8Array.from(picked, (i) => marks[i]),
    inPlaceParent: picked.map((i) => parent[i]),
    msps: Float64Array.from(picked, (i) => msps[i]),
    greedyPlace: picked.map((i) => greedyPlace[i]),
    module: picked.map((i) => ofStack.index[trace.ops.stack[stats.ops[i]]]),
    modules: ofStack.names,
  };
}

/**
 * Returns every op of a trace in all phases. Use it for a trace without modules, or to look at a whole step. The memory
 * of an op is that of results that no earlier op allocated. There are no facts about policies.
 */
export function allOpsView(trace: Trace, title: string): OpTableView {
  const { ops, storages } = trace;
  const ofStack = modulesOfStacks(trace);
  const seen = new Uint8Array(storages.count);
  const memoryBytes = new Float64Array(ops.count);
  const marks = new Uint8Array(ops.count);
  const savedStorage = new Uint8Array(storages.count);
  for (let i = 0; i < trace.saves.count; i++) savedStorage[trace.saves.storage[i]] = 1;
  const bytes = allocatedSizes(trace);
  for (let op = 0; op < ops.count; op++) {
    const flags = ops.flags[op];
    if (flags & OpFlag.view) marks[op] |= OpMark.view;
    if (flags & OpFlag.random) marks[op] |= OpMark.random;
    if (flags & OpFlag.inPlace) marks[op] |= OpMark.inPlace;
    if (flags & OpFlag.sacSkip) marks[op] |= OpMark.skipped;
    for (const tensor of trace.opInputs(op)) for (const storage of trace.tensorStorages(tensor)) seen[storage] = 1;
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) {
        if (seen[storage] === 1) continue;
        seen[storage] = 1;
        memoryBytes[op] += bytes[storage];
        if (savedStorage[storage] === 1) marks[op] |= OpMark.savedByAutograd;
      }
  }
  return {
    title,
    count: ops.count,
    op: Int32Array.from({ length: ops.count }, (_, op) => op),
    names: Array.from(ops.name, (name) => trace.strings[name]),
    phase: ops.phase,
    runtimeMs: ops.runtimeMs,
    memoryBytes,
    marks,
    inPlaceParent: new Int32Array(ops.count).fill(-1),
    msps: new Float64Array(ops.count).fill(Number.NaN),
    greedyPlace: new Int32Array(ops.count).fill(-1),
    module: Int32Array.from(ops.stack, (stack) => ofStack.index[stack]),
    modules: ofStack.names,
  };
}

/** Columns by which an op table can be sorted. */
export type OpTableColumn = "op" | "name" | "runtimeMs" | "memoryBytes" | "msps" | "marks" | "module";

/** Options of {@link opTableRows}. */
export interface OpTableRowsOptions {
  /** The column to sort by. By default ops are in execution order. */
  readonly sort?: { readonly column: OpTableColumn; readonly descending: boolean } | undefined;
  /** Shows only ops whose name or module contains this text, ignoring case. */
  readonly filter?: string;
}

/** Returns the rows to show, from top to bottom. Rows without a value are last in either direction. */
export function opTableRows(view: OpTableView, options: OpTableRowsOptions = {}): Int32Array {
  const { sort } = options;
  const filter = (options.filter ?? "").toLowerCase();
  const rows: number[] = [];
  const matches = new Map<string, boolean>();
  const matching = (text: string): boolean => {
    let known = matches.get(text);
    if (known === undefined) matches.set(text, (known = text.toLowerCase().includes(filter)));
    return known;
  };
  for (let i = 0; i < view.count; i++)
    if (filter === "" || matching(view.names[i]) || matching(moduleOf(view, i))) rows.push(i);
  if (sort === undefined) return Int32Array.from(rows);
  const sign = sort.descending ? -1 : 1;
  const by = comparison(view, sort.column);
  const missing = sort.column === "msps" ? view.msps.map(Number.isNaN as (value: number) => never) : undefined;
  return Int32Array.from(
    rows.sort((a, b) => (missing && missing[a] !== missing[b] ? missing[a] - missing[b] : sign * by(a, b) || a - b)),
  );
}

/** Returns the innermost module of a row, or an empty text. */
export function moduleOf(view: OpTableView, row: number): string {
  return view.module[row] < 0 ? "" : view.modules[view.module[row]];
}

/** Returns the names of a row's marks, for display. */
export function opMarkNames(marks: number): readonly string[] {
  return (Object.keys(OpMark) as (keyof typeof OpMark)[]).filter((name) => (marks & OpMark[name]) !== 0);
}

/** Returns ops as a table, in the order of `rows`. Default: all ops, in the order of the view. */
export function opTable(view: OpTableView, rows?: ArrayLike<number>): ViewTable {
  const shown = rows === undefined ? Array.from({ length: view.count }, (_, i) => i) : Array.from(rows);
  return {
    title: `Ops of ${view.title}`,
    columns: ["op", "name", "phase", "module", "runtimeMs", "memoryBytes", "bytesPerMs", "marks", "inPlaceParent"],
    rows: shown.map((i) => [
      view.op[i],
      view.names[i],
      phaseNames[view.phase[i]],
      moduleOf(view, i),
      view.runtimeMs[i],
      view.memoryBytes[i],
      view.msps[i] < Number.MAX_VALUE ? view.msps[i] : undefined,
      opMarkNames(view.marks[i]).join(" "),
      view.inPlaceParent[i] < 0 ? undefined : view.inPlaceParent[i],
    ]),
  };
}

function comparison(view: OpTableView, column: OpTableColumn): (a: number, b: number) => number {
  if (column === "name") return (a, b) => compareTexts(view.names[a], view.names[b]);
  if (column === "module") return (a, b) => compareTexts(moduleOf(view, a), moduleOf(view, b));
  const values = view[column];
  return (a, b) => values[a] - values[b];
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function modulesOfStacks(trace: Trace): { readonly names: readonly string[]; readonly index: Int32Array } {
  const names = trace.modules.map(({ fqn }) => fqn);
  const index = Int32Array.from({ length: trace.stacks.start.length - 1 }, (_, stack) => {
    const calls = row(trace.stacks, stack);
    return calls.length === 0 ? -1 : trace.calls.module[calls[calls.length - 1]];
  });
  return { names, index };
}

function stacksWithin(trace: Trace, fqn: string): Uint8Array {
  return Uint8Array.from({ length: trace.stacks.start.length - 1 }, (_, stack) =>
    row(trace.stacks, stack).some((call) => trace.modules[trace.calls.module[call]].fqn === fqn) ? 1 : 0,
  );
}
