import { type CategoryName, categoryNames } from "@remat/trace";
import { formatNumber } from "@remat/trace/text";
import type { ViewTable } from "../view-table.js";
import { type HeldTree, levels } from "./held-tree.js";
import { countModules, namePattern } from "./name-pattern.js";

/** A row of the tree: a group or a single storage. */
export interface HeldRow {
  /** Index of the group, or `~place` of the storage. */
  readonly id: number;
  /** 0 for a category. */
  readonly depth: number;
  /** Distinguishes the row from the other rows of its group. */
  readonly label: string;
  readonly category: CategoryName;
  readonly bytes: number;
  /** Share of all memory in use. */
  readonly share: number;
  /** Number of storages. */
  readonly count: number;
  /**
   * The modules that allocated the storages: their number, and their class if it is the same for all, such as
   * `48 BatchNormalization`. Empty for a single module and for a category.
   */
  readonly makers: string;
  /** Bytes of each storage, if there are several of equal size. */
  readonly eachBytes: number | undefined;
  /** The source line, if all storages of the row come from the same line. */
  readonly line: string | undefined;
  /** True if it can be expanded. */
  readonly hasParts: boolean;
  /** For a single storage: the op that allocated it, or -1. For a group: -1. */
  readonly op: number;
  /** For a single storage: fully qualified name of its module. */
  readonly module: string | undefined;
}

/** Returns a row of the tree with its label and figures. */
export function heldRow(tree: HeldTree, id: number, depth: number, parent: number): HeldRow {
  const total = Math.max(1, tree.held.totalBytes);
  if (id >= 0) {
    const { label, level, category, bytes, from, to, eachBytes, line, parts, modules, moduleKind } = tree.groups[id];
    return {
      id,
      depth,
      label,
      category,
      bytes,
      share: bytes / total,
      count: to - from,
      makers: level !== "category" && modules > 1 ? countModules(modules, moduleKind) : "",
      eachBytes: to - from > 1 ? eachBytes : undefined,
      line,
      hasParts: parts.length > 0,
      op: -1,
      module: undefined,
    };
  }
  const place = ~id;
  const { held, line } = tree;
  return {
    id,
    depth,
    label: storageLabel(tree, place, parent),
    category: categoryNames[held.category[place]],
    bytes: held.bytes[place],
    share: held.bytes[place] / total,
    count: 1,
    makers: "",
    eachBytes: undefined,
    line: textOf(tree, line[place]),
    hasParts: false,
    op: held.maker[place],
    module: textOf(tree, tree.module[place]),
  };
}

/** Labels a storage with the op that allocated it, and with the details that are not in the labels of its groups. */
function storageLabel(tree: HeldTree, place: number, parent: number): string {
  const { held, groups } = tree;
  const told = levels.indexOf(groups[parent]?.level ?? "category");
  const isModuleTold = told >= levels.indexOf("module") && groups[parent].modules <= 1;
  const isKernelTold = told >= levels.indexOf("op");
  const op = held.maker[place];
  const kernel = isKernelTold ? "" : ` ${textOf(tree, tree.kernel[place])}`;
  const parts = [
    isModuleTold || tree.module[place] < 0 ? undefined : namePattern([tree.texts[tree.module[place]]], tree.rootModule),
    op >= 0 ? `op ${op}${kernel}` : isKernelTold ? `storage ${held.storage[place]}` : undefined,
    told >= levels.indexOf("tensor") ? undefined : textOf(tree, tree.tensor[place]),
  ];
  return parts.filter((part) => part !== undefined).join(" · ") || `storage ${held.storage[place]}`;
}

function textOf({ texts }: HeldTree, index: number): string | undefined {
  return index < 0 ? undefined : texts[index];
}

/** Ids of rows from top to bottom, with the depth and the parent group of each (-1: none). */
export interface HeldRows {
  /** See {@link HeldRow.id}. */
  readonly ids: Int32Array;
  /** 0 for a category. */
  readonly depths: Uint8Array;
  /** Index of the surrounding group, or -1. */
  readonly parents: Int32Array;
}

/** Returns the rows that are visible while some groups are open. */
export function heldTreeRows({ roots, groups }: HeldTree, open: ReadonlySet<number>): HeldRows {
  const ids: number[] = [];
  const depths: number[] = [];
  const parents: number[] = [];
  const add = (parts: readonly number[], depth: number, parent: number): void => {
    for (const id of parts) {
      ids.push(id);
      depths.push(depth);
      parents.push(parent);
      if (id >= 0 && open.has(id)) add(groups[id].parts, depth + 1, id);
    }
  };
  add(roots, 0, -1);
  return { ids: Int32Array.from(ids), depths: Uint8Array.from(depths), parents: Int32Array.from(parents) };
}

/** Returns the groups to open first: as many of the largest as possible with at most `most` rows. */
export function openLargest({ roots, groups }: HeldTree, most: number): ReadonlySet<number> {
  const open = new Set<number>();
  const closed = new Set(roots);
  let rows = roots.length;
  while (closed.size > 0 && rows < most) {
    let next = -1;
    for (const group of closed) if (next < 0 || groups[group].bytes > groups[next].bytes) next = group;
    closed.delete(next);
    const { parts } = groups[next];
    if (rows + parts.length > most) continue;
    open.add(next);
    rows += parts.length;
    // A group that does not fit now will not fit later either.
    for (const part of parts) if (part >= 0 && rows + groups[part].parts.length <= most) closed.add(part);
  }
  return open;
}

/** Returns every group, so that the whole tree is visible. */
export function openAll({ groups }: HeldTree): ReadonlySet<number> {
  return new Set(groups.keys());
}

/** Returns every storage of the tree as a row of a table, in the order of the tree. */
export function heldTreeTable(tree: HeldTree, title: string): ViewTable {
  const { held, order } = tree;
  return {
    title,
    columns: [
      "storage",
      "bytes",
      "category",
      "module",
      "op",
      "kernel",
      "line",
      "tensor",
      "lastUsedByOp",
      "freedBeforeOp",
    ],
    rows: Array.from(order, (place) => [
      held.storage[place],
      held.bytes[place],
      categoryNames[held.category[place]],
      textOf(tree, tree.module[place]),
      held.maker[place] < 0 ? undefined : held.maker[place],
      textOf(tree, tree.kernel[place]),
      textOf(tree, tree.line[place]),
      textOf(tree, tree.tensor[place]),
      tree.lastOp[place] < 0 ? undefined : tree.lastOp[place],
      tree.freedBefore[place] < 0 ? undefined : tree.freedBefore[place],
    ]),
  };
}

/** Describes the lifetime of a single storage. Empty for a group. */
export function describeLife(tree: HeldTree, id: number): string {
  if (id >= 0) return "";
  const place = ~id;
  const { held, lastOp, freedBefore, opCount } = tree;
  const op = held.maker[place];
  const made =
    op < 0
      ? "existed before the step, or not allocated by an op"
      : `allocated by op ${op} ${textOf(tree, tree.kernel[place])}`;
  if (lastOp[place] < 0) return `${made}, never used`;
  const used = `${made}, last used by op ${lastOp[place]}`;
  if (freedBefore[place] < 0) return `${used}, never freed`;
  const idle = Math.min(freedBefore[place], opCount) - 1 - lastOp[place];
  return idle <= 0 ? `${used}, then freed` : `${used}, then kept alive for ${formatNumber(idle)} more ops`;
}
