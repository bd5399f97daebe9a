import { moduleRuntimes, type StepTimes, stepTimes } from "@remat/runtime-estimator";
import type { SACStats } from "@remat/sac-core";
import { row, type Trace } from "@remat/trace";
import { savedOnce } from "./saved-once.js";
import type { ViewTable } from "./view-table.js";

/** One module of the tree. Sizes in bytes, times in ms. */
export interface ModuleNode {
  /** Index in {@link ModuleTreeView.nodes}. */
  readonly index: number;
  /** Fully qualified name. */
  readonly fqn: string;
  /** The part of its name that is not in its parent's name. */
  readonly name: string;
  /** Class of the module. */
  readonly kind: string;
  /** 0 for the outermost modules. */
  readonly depth: number;
  /** Index of the surrounding module, or -1. */
  readonly parent: number;
  /** Indices of its direct submodules, in order of their first calls. */
  readonly children: readonly number[];
  /** Number of calls in the trace. */
  readonly calls: number;
  /** Forward ops of its last call. */
  readonly opCount: number;
  /**
   * Memory that could be freed: results of its ops, except views and the module's own output (for a leaf: the output of
   * the surrounding module).
   */
  readonly memoryBytes: number;
  /** The part of `memoryBytes` that autograd saves for the backward pass. */
  readonly savedBytes: number;
  /** Time of the ops counted here. */
  readonly runtimeMs: number;
  /** Forward time over all calls and all ops of the trace. */
  readonly forwardMs: number;
  /** Backward time over all calls and all ops of the trace. */
  readonly backwardMs: number;
}

/** All modules of a trace as a tree, parents before children. */
export interface ModuleTreeView {
  readonly nodes: readonly ModuleNode[];
  readonly roots: readonly number[];
  /** Totals of the whole trace. Shares are relative to these. */
  readonly totals: { readonly memoryBytes: number } & StepTimes;
}

type Growing = { -readonly [K in keyof ModuleNode]: ModuleNode[K] } & { children: number[] };

/**
 * Returns the modules of a trace with op times as a tree by fully qualified name. A leaf has no statistics of its own
 * and gets the cost of its ops within the surrounding module.
 *
 * @param stats statistics of the same trace (`sacStats` of `@remat/sac-core`)
 * @example
 * const view = moduleTreeView(trace, sacStats(trace));
 * moduleTreeRows(view, { expanded: new Set(view.roots) });
 */
export function moduleTreeView(trace: Trace, stats: ReadonlyMap<string, SACStats>): ModuleTreeView {
  const { modRuntimes } = moduleRuntimes(trace);
  const nodes = treeOf(trace);
  const byFqn = new Map(nodes.map((node) => [node.fqn, node]));
  const nodeOfModule = trace.modules.map(({ fqn }) => byFqn.get(fqn)!);
  for (let call = 0; call < trace.calls.count; call++) nodeOfModule[trace.calls.module[call]].calls++;
  const savedOf = new Map<SACStats, Uint8Array>();
  for (const node of nodes) {
    const runtimes = modRuntimes.get(node.fqn);
    node.forwardMs = runtimes?.forwardMs ?? 0;
    node.backwardMs = runtimes?.backwardMs ?? 0;
    const own = stats.get(node.fqn);
    if (own === undefined) continue;
    const saved = savedSet(trace, own);
    savedOf.set(own, saved);
    for (let op = 0; op < own.ops.length; op++) addOp(node, own, op, saved);
  }
  fillLeaves(trace, { nodes, byFqn, nodeOfModule }, stats, savedOf);
  sumUnfinished(nodes, stats);
  const roots = nodes.filter((node) => node.parent < 0);
  return {
    nodes,
    roots: roots.map((node) => node.index),
    totals: {
      memoryBytes: roots.reduce((sum, node) => sum + node.memoryBytes, 0),
      ...stepTimes(trace),
    },
  };
}

/** Columns by which a tree can be sorted. */
export type ModuleTreeColumn =
  | "name"
  | "memoryBytes"
  | "savedBytes"
  | "runtimeMs"
  | "forwardMs"
  | "backwardMs"
  | "calls";

/** Options of {@link moduleTreeRows}. */
export interface ModuleTreeRowsOptions {
  /** Indices of the modules whose children are shown. */
  readonly expanded: ReadonlySet<number>;
  /**
   * The column to sort by. By default modules are in the order of their first calls. Modules are sorted only among
   * those with the same parent.
   */
  readonly sort?: { readonly column: ModuleTreeColumn; readonly descending: boolean } | undefined;
}

/** Returns the indices of the modules to show, from top to bottom. */
export function moduleTreeRows({ nodes, roots }: ModuleTreeView, options: ModuleTreeRowsOptions): Int32Array {
  const { expanded, sort } = options;
  const ordered = (indices: readonly number[]): readonly number[] => {
    if (sort === undefined) return indices;
    const { column } = sort;
    const sign = sort.descending ? -1 : 1;
    return indices.toSorted((a, b) => sign * compare(nodes[a][column], nodes[b][column]) || a - b);
  };
  const rows: number[] = [];
  // A stack instead of recursion, since a tree can be deeper than the call stack.
  const open = [...ordered(roots)].reverse();
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    rows.push(at);
    if (expanded.has(at)) open.push(...[...ordered(nodes[at].children)].reverse());
  }
  return Int32Array.from(rows);
}

/** Returns the modules with children above `depth`. If you expand these, you see that many levels. */
export function expandedToDepth({ nodes }: ModuleTreeView, depth: number): Set<number> {
  return new Set(nodes.filter((node) => node.depth < depth && node.children.length > 0).map((node) => node.index));
}

/** Returns modules as a table, in the order of `rows`. Default: all modules, in the order of their first calls. */
export function moduleTreeTable({ nodes, totals }: ModuleTreeView, rows?: ArrayLike<number>): ViewTable {
  const shown = rows === undefined ? nodes : Array.from(rows, (index) => nodes[index]);
  return {
    title: "Modules",
    columns: [
      "module",
      "kind",
      "depth",
      "calls",
      "ops",
      "memoryBytes",
      "memoryShare",
      "savedBytes",
      "runtimeMs",
      "forwardMs",
      "backwardMs",
    ],
    rows: shown.map((node) => [
      node.fqn,
      node.kind,
      node.depth,
      node.calls,
      node.opCount,
      node.memoryBytes,
      totals.memoryBytes > 0 ? node.memoryBytes / totals.memoryBytes : 0,
      node.savedBytes,
      node.runtimeMs,
      node.forwardMs,
      node.backwardMs,
    ]),
  };
}

/**
 * Returns the modules in the order of their first calls. The parent of a module is the module with the longest name
 * that is a prefix of its own name.
 */
function treeOf(trace: Trace): Growing[] {
  const kinds = new Map<string, string>();
  for (let call = 0; call < trace.calls.count; call++) {
    const { fqn, kind } = trace.modules[trace.calls.module[call]];
    if (!kinds.has(fqn)) kinds.set(fqn, kind);
  }
  for (const { fqn, kind } of trace.modules) if (!kinds.has(fqn)) kinds.set(fqn, kind);
  // A module may be called before the one around it, if its code calls it directly. It still becomes a child of that
  // module.
  const children = new Map<string, string[]>();
  for (const fqn of kinds.keys()) {
    const parent = parentOf(fqn, kinds);
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [fqn]);
    else list.push(fqn);
  }
  const nodes: Growing[] = [];
  const open = (children.get("") ?? []).map((fqn) => ({ fqn, parent: -1 })).reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { fqn, parent } = next;
    const index = nodes.length;
    const around = parent < 0 ? undefined : nodes[parent];
    nodes.push({
      index,
      fqn,
      name: around === undefined ? fqn : fqn.slice(around.fqn.length + 1),
      kind: kinds.get(fqn) ?? "",
      depth: around === undefined ? 0 : around.depth + 1,
      parent,
      children: [],
      calls: 0,
      opCount: 0,
      memoryBytes: 0,
      savedBytes: 0,
      runtimeMs: 0,
      forwardMs: 0,
      backwardMs: 0,
    });
    around?.children.push(index);
    for (const child of (children.get(fqn) ?? []).toReversed()) open.push({ fqn: child, parent: index });
  }
  return nodes;
}

function parentOf(fqn: string, known: ReadonlyMap<string, string>): string {
  for (let dot = fqn.lastIndexOf("."); dot > 0; dot = fqn.lastIndexOf(".", dot - 1))
    if (known.has(fqn.slice(0, dot))) return fqn.slice(0, dot);
  return "";
}

interface ModuleNodes {
  readonly nodes: readonly Growing[];
  readonly byFqn: ReadonlyMap<string, Growing>;
  /** For each number of a module in the trace. */
  readonly nodeOfModule: readonly Growing[];
}

/** Gives each leaf its share of the figures of the nearest surrounding module that has statistics. */
function fillLeaves(
  trace: Trace,
  { nodes, byFqn, nodeOfModule }: ModuleNodes,
  stats: ReadonlyMap<string, SACStats>,
  savedOf: ReadonlyMap<SACStats, Uint8Array>,
): void {
  /** For each node: the nearest surrounding module that has statistics. */
  const around = new Int32Array(nodes.length).fill(-1);
  for (const { index, parent } of nodes)
    around[index] = parent < 0 ? -1 : stats.has(nodes[parent].fqn) ? parent : around[parent];
  /** For each stack: the modules in it without statistics of their own. */
  const leavesOfStack = Array.from({ length: trace.stacks.start.length - 1 }, (_, stack): readonly Growing[] => {
    const leaves: Growing[] = [];
    for (const call of row(trace.stacks, stack)) {
      const node = nodeOfModule[trace.calls.module[call]];
      if (!stats.has(node.fqn) && !leaves.includes(node)) leaves.push(node);
    }
    return leaves;
  });
  for (const [fqn, own] of stats) {
    const index = byFqn.get(fqn)?.index ?? -1;
    const saved = savedOf.get(own) ?? savedSet(trace, own);
    for (let i = 0; i < own.ops.length; i++)
      for (const leaf of leavesOfStack[trace.ops.stack[own.ops[i]]])
        if (around[leaf.index] === index) addOp(leaf, own, i, saved);
  }
}

/**
 * Sums figures for modules that had not finished when the trace ended, since they have no statistics. Such a module
 * gets the sum of the modules in it.
 */
function sumUnfinished(nodes: readonly Growing[], stats: ReadonlyMap<string, SACStats>): void {
  for (const node of nodes.toReversed()) {
    if (stats.has(node.fqn) || node.opCount > 0) continue;
    for (const child of node.children) {
      node.opCount += nodes[child].opCount;
      node.memoryBytes += nodes[child].memoryBytes;
      node.savedBytes += nodes[child].savedBytes;
      node.runtimeMs += nodes[child].runtimeMs;
    }
  }
}

function savedSet(trace: Trace, stats: SACStats): Uint8Array {
  const saved = new Uint8Array(stats.ops.length);
  for (const op of savedOnce(trace, stats)) saved[op] = 1;
  return saved;
}

function addOp(node: Growing, stats: SACStats, op: number, saved: Uint8Array): void {
  node.opCount++;
  node.memoryBytes += stats.memoryBytes[op];
  if (saved[op] === 1) node.savedBytes += stats.memoryBytes[op];
  node.runtimeMs += stats.runtimesMs[op];
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0;
}
