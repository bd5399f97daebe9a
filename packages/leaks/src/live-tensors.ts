import type { TensorBirth } from "@remat/dispatch-hook/tensors";
import { GrowthAccumulator } from "@remat/memory/growth";
import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import { blameMakers } from "./blame-makers.js";
import { ByRecentId } from "./by-recent-id.js";
import type { LeakMaker, LeakReport } from "./leak-report.js";
import type { SourceSite } from "./source-site.js";
import type { StackPurpose, Stacks } from "./stacks.js";
import { Kind, Maker, Origin, type Young } from "./tensor-groups.js";

/** More allocation sites and kinds than any program has. Tensors of further ones are counted together. */
const mostMakers = 4096;
const mostKinds = 16_384;
/** In the first periods it is still unknown which tensors outlive them. */
const earlyPeriods = 3;
/**
 * If an op's results outlive periods in this many shapes, they may do so in any shape. More than `mostShapesOfOp`
 * shapes count as one kind, because they are sizes of the same few things.
 */
const manyShapes = 3;
const mostShapesOfOp = 32;

/** Live tensors by allocation site. */
export class LiveTensors {
  private readonly takeStack: Stacks["take"];
  private readonly runningModule: () => string | undefined;
  count = 0;
  bytes = 0;
  private ended = 0;
  private readonly growth = new GrowthAccumulator(["second", "repeat", "predict", "step"]);
  private rows = 0;
  private readonly young = new ByRecentId<Young>();
  /**
   * For each id: an index of `origins`. For a variable that is being reassigned: the complement of the index, so that
   * the entry stays in the map. See `ByRecentId` for the cost of entries that come and go.
   */
  private readonly originOf = new Map<number, number>();
  private readonly origins: Origin[] = [];
  private readonly originByKey = new Map<string, number>();
  /** Ids of tensors without bytes of their own, since another tensor shares their data. */
  private readonly sharing = new Set<number>();
  private readonly makers: Maker[] = [];
  private readonly makerByKey = new Map<string, number>();
  private readonly kinds = new Map<number, Kind>();
  /**
   * For each op id: one kind for all results in further shapes, beyond those with a kind of their own, and the number
   * of shapes in which the op's results outlived a period.
   */
  private readonly otherKinds = new Map<number, Kind>();
  private readonly shapesOutlived: number[] = [];
  private readonly opIds = new Map<string, number>();
  /** Tensors kept by `tf.keep`. A pass also keeps some until it ends. */
  private readonly kept = new Set<number>();
  /**
   * Assigning to a variable disposes it and tracks it again. These are the records of reassigned young variables, and
   * the ids of the others.
   */
  private readonly reassigned = new Map<number, Young>();
  private readonly reassignedIds: number[] = [];
  private readonly heldData = new WeakSet<DataId>();
  private readonly stackCounts = { taken: 0, outlived: 0 };

  constructor(takeStack: Stacks["take"], runningModule: () => string | undefined = () => undefined) {
    this.takeStack = takeStack;
    this.runningModule = runningModule;
  }

  made(tensor: Tensor, birth: TensorBirth, isVariable: boolean): void {
    if (isVariable && this.isReassigned(tensor)) return;
    const stack = this.takeStack(this.purposeOf(tensor, birth, isVariable));
    this.young.set(tensor.id, { tensor, birth, isVariable, stack, module: this.runningModule() });
  }

  private isReassigned(variable: Tensor): boolean {
    const { id } = variable;
    const origin = this.reassignedIds.length > 0 ? this.originOf.get(id) : undefined;
    if (origin !== undefined && origin < 0) {
      this.hold(variable, ~origin);
      return true;
    }
    const young = this.reassigned.size > 0 ? this.reassigned.get(id) : undefined;
    if (young === undefined) return false;
    this.reassigned.delete(id);
    this.young.set(id, young);
    return true;
  }

  /** The choice does not depend on where the tensor comes from, so the same share is taken of all similar tensors. */
  private purposeOf(tensor: Tensor, birth: TensorBirth, isVariable: boolean): StackPurpose {
    if (this.kinds.size > 0) {
      const op = this.opOf(birth, isVariable);
      const kind = this.kinds.get(hashOf(op, tensor)) ?? this.otherKinds.get(op);
      if (kind !== undefined) return kind;
      if (this.shapesOutlived[op] >= manyShapes) return "many shapes";
    }
    if (isVariable) return "variable";
    if (this.ended < earlyPeriods) return "early";
    return birth.isInTidy ? "sheltered" : "outside";
  }

  disposed(tensor: Tensor): void {
    const { id } = tensor;
    const young = this.young.get(id);
    if (young !== undefined) {
      this.young.delete(id);
      if (young.isVariable) this.reassigned.set(id, young);
      return;
    }
    const index = this.originOf.get(id);
    if (index === undefined || index < 0) return;
    this.kept.delete(id);
    const bytes = this.sharing.delete(id) ? 0 : bytesOf(tensor);
    if (bytes > 0) this.heldData.delete(tensor.dataId);
    this.count--;
    this.bytes -= bytes;
    const origin = this.origins[index];
    const { kind, maker, weight } = origin;
    origin.alive--;
    this.growth.freed(kind.row, bytes);
    if (maker !== undefined) this.growth.freed(this.makers[maker].row, bytes, weight);
    if (kind.isVariable) {
      this.originOf.set(id, ~index);
      this.reassignedIds.push(id);
    } else this.originOf.delete(id);
  }

  /** Starts again with different periods, for which it is unknown which tensors outlive them. */
  restart(): void {
    this.ended = 0;
  }

  endPeriod(kind: string): void {
    this.settle();
    this.ended++;
    this.growth.endPeriod(kind);
  }

  /** Removes the last periods of a kind, which were not real ones. */
  takeBack(kind: string, count: number): void {
    this.growth.takeBack(kind, count);
  }

  /** Counts the tensors of the current period as outliving it. */
  settle(): void {
    this.young.drain((each) => this.outlives(each));
    if (this.reassigned.size > 0) this.reassigned.clear();
    for (const id of this.reassignedIds) if (this.originOf.get(id)! < 0) this.originOf.delete(id);
    this.reassignedIds.length = 0;
  }

  periods(): ReadonlyMap<string, number> {
    return this.growth.periods();
  }

  get stacks(): LeakReport["stacks"] {
    return { ...this.stackCounts };
  }

  /** Checks which of the tensors up to `oldId` still have an object. */
  look(tensors: readonly Tensor[], oldId: number): void {
    const there = new Set<number>();
    for (const { id } of tensors) there.add(id);
    const groups = [...this.makers, ...this.kinds.values(), ...this.otherKinds.values()];
    for (const group of [...groups, ...this.origins]) group.lost = group.held = 0;
    for (const [id, index] of this.originOf) {
      if (id > oldId || index < 0) continue;
      const origin = this.origins[index];
      const { kind, maker, weight } = origin;
      const fate = there.has(id) ? "held" : "lost";
      origin[fate]++;
      kind[fate]++;
      if (maker !== undefined) this.makers[maker][fate] += weight;
    }
    for (const tensor of tensors) if (tensor.kept && this.originOf.has(tensor.id)) this.kept.add(tensor.id);
  }

  report(): readonly LeakMaker[] {
    this.countKept();
    return blameMakers(this.makers, [...this.kinds.values(), ...this.otherKinds.values()], this.growth);
  }

  private countKept(): void {
    const groups = [...this.makers, ...this.kinds.values(), ...this.otherKinds.values()];
    for (const group of groups) group.kept = 0;
    for (const id of this.kept) {
      const { kind, maker, weight } = this.origins[this.originOf.get(id)!];
      kind.kept++;
      if (maker !== undefined) this.makers[maker].kept += weight;
    }
  }

  private outlives(young: Young): void {
    const { tensor, stack } = young;
    const kind = this.kindFor(young);
    this.stackCounts.outlived++;
    const isTaken = typeof stack !== "number";
    if (isTaken) this.stackCounts.taken++;
    const maker = isTaken ? this.makerFor(young, stack.read()) : undefined;
    const weight = isTaken ? stack.weight : stack;
    if (maker === undefined || weight > 1) kind.isWhole = false;
    kind.note(young);
    if (maker !== undefined) {
      this.makers[maker].note(young);
      this.makers[maker].kinds.add(kind);
    }
    if (tensor.kept) this.kept.add(tensor.id);
    this.hold(tensor, this.indexOf(kind, maker, weight));
  }

  private hold(tensor: Tensor, index: number): void {
    const isShared = this.heldData.has(tensor.dataId);
    const bytes = isShared ? 0 : bytesOf(tensor);
    if (isShared) this.sharing.add(tensor.id);
    else if (bytes > 0) this.heldData.add(tensor.dataId);
    this.originOf.set(tensor.id, index);
    this.count++;
    this.bytes += bytes;
    const origin = this.origins[index];
    const { kind, maker, weight } = origin;
    origin.alive++;
    this.growth.allocated(kind.row, bytes);
    if (maker !== undefined) this.growth.allocated(this.makers[maker].row, bytes, weight);
  }

  private indexOf(kind: Kind, maker: number | undefined, weight: number): number {
    const key = `${kind.row} ${maker} ${weight}`;
    let index = this.originByKey.get(key);
    if (index === undefined) {
      const origin = new Origin(kind, maker, weight);
      kind.origins.push(origin);
      index = this.origins.push(origin) - 1;
      this.originByKey.set(key, index);
    }
    return index;
  }

  /** Variables are distinguished from the tensors that they are made of. */
  private opOf({ op, isInTidy }: TensorBirth, isVariable: boolean): number {
    const name = isVariable ? "variable" : (op ?? "tensor");
    let id = this.opIds.get(name);
    if (id === undefined) this.opIds.set(name, (id = 2 * this.opIds.size));
    return id + Number(isInTidy);
  }

  private kindFor({ tensor, birth, isVariable }: Young): Kind {
    const op = this.opOf(birth, isVariable);
    const hash = hashOf(op, tensor);
    const known = this.kinds.get(hash);
    if (known !== undefined) return known;
    const open = (): Kind => new Kind(this.rows++, nameOfOp(birth, isVariable), isVariable, birth.isInTidy);
    const shapes = (this.shapesOutlived[op] = (this.shapesOutlived[op] ?? 0) + 1);
    const isOwn = shapes <= mostShapesOfOp && this.kinds.size < mostKinds;
    const kind = (isOwn ? undefined : this.otherKinds.get(op)) ?? open();
    if (isOwn) this.kinds.set(hash, kind);
    else this.otherKinds.set(op, kind);
    return kind;
  }

  private makerFor(young: Young, site: SourceSite): number | undefined {
    const op = nameOfOp(young.birth, young.isVariable);
    const key = `${site.line} ${site.owner} ${op}${site.line === undefined ? ` ${site.within}` : ""}`;
    const known = this.makerByKey.get(key);
    if (known !== undefined) return known;
    if (this.makers.length >= mostMakers) return undefined;
    const index = this.makers.push(new Maker(this.rows++, op, site, young)) - 1;
    this.makerByKey.set(key, index);
    return index;
  }
}

const nameOfOp = ({ op }: TensorBirth, isVariable: boolean): string => (isVariable ? "variable" : (op ?? "tensor"));

function hashOf(op: number, { shape, dtype }: Tensor): number {
  let hash = 31 * op + dtype.charCodeAt(0);
  for (let i = 0; i < shape.length; i++) hash = Math.imul(hash, 31) + shape[i];
  return hash | 0;
}

/**
 * Returns 0 for a string tensor, whose size only the engine knows, and for a complex one, whose parts count instead.
 */
function bytesOf({ dtype, size }: Tensor): number {
  if (dtype === "string" || dtype === "complex64") return 0;
  return dtype === "bool" ? size : 4 * size;
}
