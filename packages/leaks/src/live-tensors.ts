import type { TensorBirth } from "@remat/dispatch-hook/tensors";
import { GrowthAccumulator, type MakerGrowth } from "@remat/memory/growth";
import type { DataId, Tensor, Variable } from "@tensorflow/tfjs-core";
import { ByRecentId } from "./by-recent-id.js";
import type { LeakMaker, LeakOrigin, LeakReport } from "./leak-report.js";
import type { SourceSite } from "./source-site.js";
import type { Likelihood } from "./stack-budget.js";

/** A tensor of the period that is running. */
interface Young {
  readonly tensor: Tensor;
  readonly birth: TensorBirth;
  readonly isVariable: boolean;
  readonly site: SourceSite | undefined;
  readonly module: string | undefined;
}

/** What one line makes by one op. */
class Maker {
  readonly shapes = new Set<string>();
  readonly modules = new Set<string>();
  readonly names = new Set<string>();
  /** At the last census, of those that had outlived a period: how many objects were gone, and how many were there. */
  lost = 0;
  held = 0;

  constructor(
    /** Undefined where the stack was not looked at. */
    readonly site: SourceSite | undefined,
    readonly op: string,
    readonly isVariable: boolean,
    readonly isInTidy: boolean,
  ) {}
}

/** Tensors that are alike: made by one op, of one shape. Their stacks are looked at once one of them has outlived its period. */
interface Kind {
  /** The maker of the last one whose stack was looked at. */
  seen: number | undefined;
}

/** More makers and kinds than any program has lines; what comes then counts as one. */
const mostMakers = 4096;
const mostKinds = 16_384;
const mostShapes = 4;
/** In so many nothing is known yet of what outlives them, so that all stacks are looked at that the budget allows. */
const earlyPeriods = 3;
/** An op whose results outlive periods in so many shapes may do so in any. */
const manyShapes = 3;

/** Which tensors are alive, by who made them. */
export class LiveTensors {
  count = 0;
  bytes = 0;
  private ended = 0;
  private readonly growth = new GrowthAccumulator(["second", "repeat", "predict", "step"]);
  private readonly young = new ByRecentId<Young>();
  /** Of a variable that is being reassigned `~maker`, so that its entry stays: see `ByRecentId` for what a Map costs that entries leave and come to. */
  private readonly makerOf = new Map<number, number>();
  /** By id: those that have no bytes of their own, since another tensor is on their data. */
  private readonly sharing = new Set<number>();
  private readonly makers: Maker[] = [];
  private readonly makerByKey = new Map<string, number>();
  private readonly kinds = new Map<number, Kind>();
  private readonly opIds = new Map<string | undefined, number>();
  /** By id of an op: in how many shapes its results have outlived a period. */
  private readonly shapesOutlived: number[] = [];
  /** Those that `tf.keep` has kept: a pass keeps some, too, until it is over. */
  private readonly kept = new Set<number>();
  /** A variable that gets other data is disposed of and tracked anew by that: what is known of those that are young, and the ids of the others. */
  private readonly reassigned = new Map<number, Young>();
  private readonly reassignedIds: number[] = [];
  private readonly heldData = new WeakSet<DataId>();
  private readonly stackCounts = { taken: 0, outlived: 0 };

  constructor(
    private readonly siteOf: (likelihood: Likelihood) => SourceSite | undefined,
    private readonly runningModule: () => string | undefined = () => undefined,
  ) {}

  made(tensor: Tensor, birth: TensorBirth, isVariable: boolean): void {
    if (isVariable && this.isReassigned(tensor)) return;
    const likely = isVariable || (this.kinds.size > 0 && this.isLikely(tensor, birth));
    const site = this.lookAt(likely, birth);
    this.young.set(tensor.id, { tensor, birth, isVariable, site, module: this.runningModule() });
  }

  private isReassigned(variable: Tensor): boolean {
    const { id } = variable;
    const maker = this.reassignedIds.length > 0 ? this.makerOf.get(id) : undefined;
    if (maker !== undefined && maker < 0) {
      this.hold(variable, ~maker);
      return true;
    }
    const young = this.reassigned.size > 0 ? this.reassigned.get(id) : undefined;
    if (young === undefined) return false;
    this.reassigned.delete(id);
    this.young.set(id, young);
    return true;
  }

  private lookAt(likely: boolean, { isInTidy }: TensorBirth): SourceSite | undefined {
    if (likely) return this.siteOf("likely");
    if (this.ended < earlyPeriods) return this.siteOf("early");
    return isInTidy ? undefined : this.siteOf("unlikely");
  }

  disposed(tensor: Tensor): void {
    const { id } = tensor;
    const young = this.young.get(id);
    if (young !== undefined) {
      this.young.delete(id);
      if (young.isVariable) this.reassigned.set(id, young);
      return;
    }
    const maker = this.makerOf.get(id);
    if (maker === undefined || maker < 0) return;
    this.kept.delete(id);
    const bytes = this.sharing.delete(id) ? 0 : bytesOf(tensor);
    if (bytes > 0) this.heldData.delete(tensor.dataId);
    this.count--;
    this.bytes -= bytes;
    this.growth.freed(maker, bytes);
    if (this.makers[maker].isVariable) {
      this.makerOf.set(id, ~maker);
      this.reassignedIds.push(id);
    } else this.makerOf.delete(id);
  }

  /** Other periods than before end from here on: of what outlives them nothing is known yet. */
  restart(): void {
    this.ended = 0;
  }

  endPeriod(kind: string): void {
    this.settle();
    this.ended++;
    this.growth.endPeriod(kind);
  }

  /** The last periods of a kind were none. */
  takeBack(kind: string, count: number): void {
    this.growth.takeBack(kind, count);
  }

  /** What was made in the period that is running outlives it. */
  settle(): void {
    this.young.drain((each) => this.outlives(each));
    if (this.reassigned.size > 0) this.reassigned.clear();
    for (const id of this.reassignedIds) if (this.makerOf.get(id)! < 0) this.makerOf.delete(id);
    this.reassignedIds.length = 0;
  }

  periods(): ReadonlyMap<string, number> {
    return this.growth.periods();
  }

  get stacks(): LeakReport["stacks"] {
    return { ...this.stackCounts };
  }

  /** Which of the tensors up to `oldId` still have an object. */
  look(tensors: readonly Tensor[], oldId: number): void {
    const there = new Set<number>();
    for (const { id } of tensors) there.add(id);
    for (const maker of this.makers) maker.lost = maker.held = 0;
    for (const [id, index] of this.makerOf) {
      if (id > oldId) continue;
      if (there.has(id)) this.makers[index].held++;
      else this.makers[index].lost++;
    }
    for (const tensor of tensors) {
      if (tensor.kept && this.makerOf.has(tensor.id)) this.kept.add(tensor.id);
    }
  }

  report(): readonly LeakMaker[] {
    const kept = this.keptOfMakers();
    const told = this.makers.map((maker, i) =>
      tellMaker(maker, this.growth.growthOf(i, { isLost: maker.lost > maker.held }), kept[i]),
    );
    return told.flatMap((each, i) => {
      const maker = this.makers[i];
      if (each.count === 0 || (maker.site === undefined && growingAlike(maker, this.makers, told).length === 1))
        return [];
      if (maker.site === undefined || each.verdict !== "growing") return [each];
      // Of what came before any stack of its kind was looked at, that much is taken to be of the one line that grows.
      const unseen = this.makerByKey.get(unseenKey(maker.op, maker));
      if (unseen === undefined || growingAlike(this.makers[unseen], this.makers, told).length !== 1) return [each];
      const count = each.count + told[unseen].count;
      const fates = fatesOf(maker.lost + maker.held > 0 ? maker : this.makers[unseen], count);
      return [{ ...each, count, ...fates, bytes: each.bytes + told[unseen].bytes }];
    });
  }

  private keptOfMakers(): readonly number[] {
    const counts = this.makers.map(() => 0);
    for (const id of this.kept) counts[this.makerOf.get(id)!]++;
    return counts;
  }

  private outlives({ tensor, birth, isVariable, site, module }: Young): void {
    const hash = this.kindOf(tensor, birth);
    const op = this.opOf(birth);
    if (!this.kinds.has(hash)) this.shapesOutlived[op] = (this.shapesOutlived[op] ?? 0) + 1;
    const kind = this.noteKind(hash);
    this.stackCounts.outlived++;
    if (site !== undefined) this.stackCounts.taken++;
    const index = this.makerFor(kind, birth, isVariable, site);
    const maker = this.makers[index];
    if (tensor.kept) this.kept.add(tensor.id);
    if (maker.shapes.size < mostShapes) maker.shapes.add(`${tensor.dtype} [${tensor.shape.join(",")}]`);
    if (module !== undefined && maker.modules.size < mostShapes) maker.modules.add(module);
    if (isVariable && maker.names.size < mostShapes) maker.names.add((tensor as Variable).name);
    this.hold(tensor, index);
  }

  private hold(tensor: Tensor, index: number): void {
    const isShared = this.heldData.has(tensor.dataId);
    const bytes = isShared ? 0 : bytesOf(tensor);
    if (isShared) this.sharing.add(tensor.id);
    else if (bytes > 0) this.heldData.add(tensor.dataId);
    this.makerOf.set(tensor.id, index);
    this.count++;
    this.bytes += bytes;
    this.growth.allocated(index, bytes);
  }

  private isLikely(tensor: Tensor, birth: TensorBirth): boolean {
    return this.kinds.has(this.kindOf(tensor, birth)) || this.shapesOutlived[this.opOf(birth)] >= manyShapes;
  }

  private opOf({ op, isInTidy }: TensorBirth): number {
    let id = this.opIds.get(op);
    if (id === undefined) this.opIds.set(op, (id = 2 * this.opIds.size));
    return id + Number(isInTidy);
  }

  private kindOf({ shape, dtype }: Tensor, birth: TensorBirth): number {
    let hash = 31 * this.opOf(birth) + dtype.charCodeAt(0);
    for (let i = 0; i < shape.length; i++) hash = Math.imul(hash, 31) + shape[i];
    return hash | 0;
  }

  private noteKind(hash: number): Kind {
    // Of those beyond, which are many sizes of a few things, all count as one.
    const key = this.kinds.size < mostKinds || this.kinds.has(hash) ? hash : 0;
    let kind = this.kinds.get(key);
    if (kind !== undefined) return kind;
    this.kinds.set(key, (kind = { seen: undefined }));
    return kind;
  }

  private makerFor(kind: Kind, birth: TensorBirth, isVariable: boolean, site: SourceSite | undefined): number {
    if (site === undefined && kind.seen !== undefined) return kind.seen;
    const op = isVariable ? "variable" : (birth.op ?? "tensor");
    const made = () => new Maker(site, op, isVariable, birth.isInTidy);
    const index = this.makerOfKey(site === undefined ? unseenKey(op, birth) : `${site.line} ${site.owner} ${op}`, made);
    if (site !== undefined) kind.seen = index;
    return index;
  }

  private makerOfKey(key: string, make: () => Maker): number {
    const known = this.makerByKey.get(key);
    if (known !== undefined) return known;
    if (this.makers.length >= mostMakers) return mostMakers - 1;
    this.makers.push(make());
    this.makerByKey.set(key, this.makers.length - 1);
    return this.makers.length - 1;
  }
}

const unseenKey = (op: string, { isInTidy }: { readonly isInTidy: boolean }): string => `unseen ${op} ${isInTidy}`;

/** The makers whose stack was looked at, by the same op, that grow. */
function growingAlike(unseen: Maker, makers: readonly Maker[], told: readonly LeakMaker[]): readonly Maker[] {
  return makers.filter(
    ({ site, op, isInTidy }, i) =>
      site !== undefined && op === unseen.op && isInTidy === unseen.isInTidy && told[i].verdict === "growing",
  );
}

function tellMaker(maker: Maker, growth: MakerGrowth, kept: number): LeakMaker {
  return {
    line: maker.site?.line,
    op: maker.op,
    shapes: [...maker.shapes],
    modules: [...maker.modules],
    names: [...maker.names],
    origin: originOf(maker, kept > 0 && 2 * kept >= growth.count),
    returnedBy: maker.site?.returnedBy,
    ...fatesOf(maker, growth.count),
    ...growth,
  };
}

/** Of so many tensors, by those that the last census told. */
function fatesOf({ lost, held }: Maker, count: number): Pick<LeakMaker, "lost" | "held"> {
  const share = Math.round((count * lost) / Math.max(1, lost + held));
  return { lost: share, held: lost + held > 0 ? count - share : 0 };
}

/** Of a string tensor, whose bytes only the engine knows, and of a complex one, whose parts count, none. */
function bytesOf({ dtype, size }: Tensor): number {
  if (dtype === "string" || dtype === "complex64") return 0;
  return dtype === "bool" ? size : 4 * size;
}

function originOf({ site, isVariable, isInTidy }: Maker, isKept: boolean): LeakOrigin {
  const owner = site?.owner;
  if (owner !== undefined && (isVariable || isKept || owner === "iterator")) return owner;
  if (isVariable) return "variable";
  if (isKept) return "kept";
  return isInTidy ? "returned" : "outside";
}
