import { type HeldStorages, storageModules, storageUses } from "@remat/memory";
import { type CategoryName, categoryNames, type Trace } from "@remat/trace";
import { labelCategory } from "../category-colours.js";
import { namePattern } from "./name-pattern.js";

/** The property in which the parts of a group differ. A part's label adds it to the label of the surrounding group. */
export type HeldLevel = "category" | "module" | "op" | "tensor";

/**
 * Storages with properties in common. One label contains all these properties, so that no group has only a single part.
 */
export interface HeldGroup {
  readonly level: HeldLevel;
  /**
   * Properties that its storages share, in addition to those of the surrounding group: a category; modules, written
   * `conv*_bn` if only numbers differ; kernel, dtype and shape.
   */
  readonly label: string;
  readonly category: CategoryName;
  readonly bytes: number;
  /** Start of its storages in `order`. */
  readonly from: number;
  /** End of its storages in `order` (exclusive). */
  readonly to: number;
  /** Number of modules that allocated them. */
  readonly modules: number;
  /** Class of these modules if all have the same, otherwise undefined. */
  readonly moduleKind: string | undefined;
  /** Bytes of each storage, if all are equal. */
  readonly eachBytes: number | undefined;
  /** The source line, if all storages come from the same line. */
  readonly line: string | undefined;
  /** Index of the surrounding group, or -1. */
  readonly parent: number;
  /** 0 for a category. */
  readonly depth: number;
  /**
   * The parts, largest first. A group is given by its index, and a single storage by the complement (`~place`) of its
   * place in the columns.
   */
  readonly parts: readonly number[];
}

/**
 * Memory in use at a moment as a tree, sorted by bytes: category, module, op, equal tensors, storage. Storages are
 * columns, so that a tree of a million fits in memory. A storage with its own row has the id `~place`.
 */
export interface HeldTree {
  /** The storages in use at that moment. */
  readonly held: HeldStorages;
  /** All groups. Rows and parts refer to them by index. */
  readonly groups: readonly HeldGroup[];
  /** The categories, largest first. */
  readonly roots: readonly number[];
  /** Places in the columns of `held`. The places of a group are adjacent. */
  readonly order: Int32Array;
  /** The outermost module, whose name is left out of labels, or empty if none exists. */
  readonly rootModule: string;
  /** Names, kernels and shapes that the columns below refer to. */
  readonly texts: readonly string[];
  /** For each place: the module, as an index into `texts`, or -1. */
  readonly module: Int32Array;
  /** For each place: the kernel, as an index into `texts`, or -1. */
  readonly kernel: Int32Array;
  /** For each place: the source line, as an index into `texts`, or -1. */
  readonly line: Int32Array;
  /** For each place: dtype and shape, as an index into `texts`, or -1. */
  readonly tensor: Int32Array;
  /** For each place: see `StorageUses.lastOp`. */
  readonly lastOp: Int32Array;
  /** For each place: see `StorageUses.freedBefore`. */
  readonly freedBefore: Int32Array;
  /** Number of ops in the trace. */
  readonly opCount: number;
}

/**
 * Returns the memory in use at a moment as a tree.
 *
 * @example
 * heldTree(trace, new StepFacts(trace).storagesAtPeak).roots;
 */
export function heldTree(trace: Trace, held: HeldStorages): HeldTree {
  const texts = new Texts();
  const columns = columnsOf(trace, held, texts);
  const builder = new GroupBuilder(trace, held, columns, texts);
  const { groups, order } = builder;
  const roots = builder.divide(0, held.count, categoryLevel, -1, 0);
  const uses = storageUses(trace);
  return {
    held,
    groups,
    roots,
    rootModule: builder.root,
    order,
    texts: texts.all,
    ...columns,
    lastOp: held.storage.map((storage) => uses.lastOp[storage]),
    freedBefore: held.storage.map((storage) => uses.freedBefore[storage]),
    opCount: trace.ops.count,
  };
}

type Columns = Pick<HeldTree, "module" | "kernel" | "line" | "tensor">;

/** Stores each text once. */
class Texts {
  readonly all: string[] = [];
  private readonly known = new Map<string, number>();

  of(text: string | undefined): number {
    if (text === undefined) return -1;
    let index = this.known.get(text);
    if (index === undefined) this.known.set(text, (index = this.all.push(text) - 1));
    return index;
  }
}

function columnsOf(trace: Trace, held: HeldStorages, texts: Texts): Columns {
  const modules = storageModules(trace);
  const tensors = firstTensors(trace);
  const named = trace.modules.map(({ fqn }) => texts.of(fqn));
  return {
    module: held.storage.map((storage) => (modules[storage] < 0 ? -1 : named[modules[storage]])),
    kernel: held.maker.map((op, i) =>
      texts.of(op < 0 ? undefined : `${trace.opName(op)}${held.isScratch[i] === 1 ? " (scratch)" : ""}`),
    ),
    line: held.maker.map((op) => texts.of(op < 0 ? undefined : trace.opLine(op))),
    tensor: held.storage.map((storage, i) => {
      const tensor = tensors[storage];
      if (tensor < 0 || held.isScratch[i] === 1) return -1;
      return texts.of(`${trace.tensorDtype(tensor)} [${trace.tensorShape(tensor).join(", ")}]`);
    }),
  };
}

/** For each storage: the first tensor that used it, or -1. */
function firstTensors(trace: Trace): Int32Array {
  const first = new Int32Array(trace.storages.count).fill(-1);
  for (let tensor = trace.tensors.count - 1; tensor >= 0; tensor--)
    for (const storage of trace.tensorStorages(tensor)) first[storage] = tensor;
  return first;
}

const categoryLevel = 0;

/**
 * The levels of the tree, from the outermost to the innermost.
 *
 * @internal
 */
export const levels: readonly HeldLevel[] = ["category", "module", "op", "tensor"];

const noModule = "no module";
/** The label of storages that existed before the first op, or were created from JavaScript. */
const noOp = "no op";

class GroupBuilder {
  /** For each place: a number shared by modules whose names differ only in their numbers. */
  private readonly alike: Int32Array;
  private readonly kinds: ReadonlyMap<string, string>;
  readonly root: string;
  readonly groups: HeldGroup[] = [];
  /** Places in the columns of `held`. The places of a group are adjacent. */
  readonly order: Int32Array;
  private readonly held: HeldStorages;
  private readonly columns: Columns;
  private readonly texts: Texts;

  constructor({ modules }: Trace, held: HeldStorages, columns: Columns, texts: Texts) {
    this.held = held;
    this.columns = columns;
    this.texts = texts;
    this.order = Int32Array.from({ length: held.count }, (_, i) => i);
    this.kinds = new Map(modules.map(({ fqn, kind }) => [fqn, kind]));
    this.root = modules.length > 0 && modules.every(({ fqn }) => isWithin(fqn, modules[0].fqn)) ? modules[0].fqn : "";
    const patterns = new Texts();
    const alike = texts.all.map((text) => patterns.of(text.replace(/\d+/g, "*")));
    this.alike = columns.module.map((module) => (module < 0 ? -1 : alike[module]));
  }

  /**
   * Divides a range of the order into groups by a level and the levels below it, and returns its parts, largest first.
   */
  divide(from: number, to: number, level: number, parent: number, depth: number): number[] {
    const stretches = this.sortInto(from, to, level);
    const parts: number[] = [];
    for (const [begin, end] of stretches) {
      if (end - begin === 1 && level !== categoryLevel) {
        parts.push(~this.order[begin]);
        continue;
      }
      const index = this.groups.length;
      // Reserves its index before the groups inside it take theirs.
      this.groups.push(undefined as unknown as HeldGroup);
      const labels = [this.labelOf(begin, end, level)];
      let deepest = level;
      // A property shared by the whole group gets no row of its own, unless it is a category.
      let next = level + 1;
      let inner: number[] | undefined;
      for (; next < levels.length; next++) {
        const isDivided = this.sortInto(begin, end, next).length > 1;
        const label = isDivided ? "" : this.labelOf(begin, end, next);
        if (isDivided || (level === categoryLevel && label !== "" && label !== noModule)) {
          inner = this.divide(begin, end, next, index, depth + 1);
          break;
        }
        if (label === "" || label === noModule) continue;
        labels.push(label);
        deepest = next;
      }
      this.groups[index] = {
        ...this.describe(begin, end),
        level: levels[deepest],
        label: labels.filter((label) => label !== "").join(" · ") || noOp,
        parent,
        depth,
        parts: inner ?? Array.from(this.order.subarray(begin, end), (place) => ~place),
      };
      parts.push(index);
    }
    return parts;
  }

  /**
   * Sorts a range by the property of a level, groups with the most bytes first. Returns where each group begins and
   * ends.
   */
  private sortInto(from: number, to: number, level: number): (readonly [number, number])[] {
    const groups = new Map<string | number, number[]>();
    const bytes = new Map<string | number, number>();
    for (let at = from; at < to; at++) {
      const place = this.order[at];
      const key = this.keyOf(place, level);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [place]);
      else group.push(place);
      bytes.set(key, (bytes.get(key) ?? 0) + this.held.bytes[place]);
    }
    const keys = [...groups.keys()].sort((a, b) => bytes.get(b)! - bytes.get(a)!);
    let at = from;
    return keys.map((key) => {
      const begin = at;
      for (const place of groups.get(key)!) this.order[at++] = place;
      return [begin, at] as const;
    });
  }

  private keyOf(place: number, level: number): string | number {
    const { kernel, line, tensor } = this.columns;
    switch (levels[level]) {
      case "category":
        return this.held.category[place];
      case "module":
        return this.alike[place];
      case "op":
        return `${kernel[place]} ${line[place]}`;
      case "tensor":
        return `${tensor[place]} ${this.held.bytes[place]}`;
    }
  }

  private labelOf(begin: number, end: number, level: number): string {
    const place = this.order[begin];
    const { module, kernel, tensor } = this.columns;
    switch (levels[level]) {
      case "category":
        return labelCategory(categoryNames[this.held.category[place]]);
      case "module": {
        if (module[place] < 0) return noModule;
        const names = new Set<string>();
        for (let at = begin; at < end; at++) names.add(this.texts.all[module[this.order[at]]]);
        return namePattern([...names], this.root);
      }
      case "op":
        return kernel[place] < 0 ? "" : this.texts.all[kernel[place]];
      case "tensor":
        return tensor[place] < 0 ? "" : this.texts.all[tensor[place]];
    }
  }

  private describe(
    begin: number,
    end: number,
  ): Pick<HeldGroup, "category" | "bytes" | "from" | "to" | "modules" | "moduleKind" | "eachBytes" | "line"> {
    const { held, columns, order } = this;
    const first = order[begin];
    const modules = new Set<number>();
    let bytes = 0;
    for (let at = begin; at < end; at++) {
      bytes += held.bytes[order[at]];
      if (columns.module[order[at]] >= 0) modules.add(columns.module[order[at]]);
    }
    const kinds = new Set(Array.from(modules, (module) => this.kinds.get(this.texts.all[module])));
    const isEqual = this.every(begin, end, (place) => held.bytes[place] === held.bytes[first]);
    const isOneLine = this.every(begin, end, (place) => columns.line[place] === columns.line[first]);
    return {
      category: categoryNames[held.category[first]],
      bytes,
      from: begin,
      to: end,
      modules: modules.size,
      moduleKind: kinds.size === 1 ? [...kinds][0] : undefined,
      eachBytes: isEqual ? held.bytes[first] : undefined,
      line: isOneLine && columns.line[first] >= 0 ? this.texts.all[columns.line[first]] : undefined,
    };
  }

  private every(begin: number, end: number, is: (place: number) => boolean): boolean {
    for (let at = begin; at < end; at++) if (!is(this.order[at])) return false;
    return true;
  }
}

function isWithin(fqn: string, root: string): boolean {
  return fqn === root || fqn.startsWith(`${root}.`);
}
