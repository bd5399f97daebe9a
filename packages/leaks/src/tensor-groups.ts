import type { TensorBirth } from "@remat/dispatch-hook/tensors";
import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import { estimateLine, type LineEstimate, type Stratum } from "./line-estimate.js";
import type { SourceSite } from "./source-site.js";
import type { TakenStack } from "./stacks.js";

const mostShapes = 4;

/** A tensor of the period that is running. */
export interface Young {
  readonly tensor: Tensor;
  readonly birth: TensorBirth;
  readonly isVariable: boolean;
  /** Or the weight that its stack would have had, had it been chosen. */
  readonly stack: TakenStack | number;
  readonly module: string | undefined;
}

/** Counts that the last census has told, of tensors that had outlived a period: how many had no object any more, and how many had one. */
export class Fates {
  lost = 0;
  held = 0;
  kept = 0;
}

/** Tensors by what they are, or by the line that made them, with a row of counts. */
export class Group extends Fates {
  readonly row: number;
  readonly op: string;
  readonly isVariable: boolean;
  readonly isInTidy: boolean;
  readonly shapes: Set<string> = new Set();
  readonly modules: Set<string> = new Set();
  readonly names: Set<string> = new Set();

  constructor(row: number, op: string, isVariable: boolean, isInTidy: boolean) {
    super();
    this.row = row;
    this.op = op;
    this.isVariable = isVariable;
    this.isInTidy = isInTidy;
  }

  note({ tensor, isVariable, module }: Young): void {
    if (this.shapes.size < mostShapes) this.shapes.add(`${tensor.dtype} [${tensor.shape.join(",")}]`);
    if (module !== undefined && this.modules.size < mostShapes) this.modules.add(module);
    if (isVariable && this.names.size < mostShapes) this.names.add((tensor as Variable).name);
  }
}

/** The tensors that one line makes by one op. Counts are estimates where only some stacks were taken. */
export class Maker extends Group {
  readonly site: SourceSite;
  readonly kinds: Set<Kind> = new Set();

  constructor(row: number, op: string, site: SourceSite, { isVariable, birth }: Pick<Young, "isVariable" | "birth">) {
    super(row, op, isVariable, birth.isInTidy);
    this.site = site;
  }
}

/** Tensors that are alike: made by one op, of one shape. Their number is exact. */
export class Kind extends Group {
  readonly origins: Origin[] = [];
  /** Whether the stack of each of them was taken. */
  isWhole = true;

  /** The makers of which some stacks are of tensors that are alive. */
  makers(): readonly number[] {
    const alive = this.origins.flatMap(({ maker, alive }) => (maker === undefined || alive === 0 ? [] : [maker]));
    return [...new Set(alive)];
  }

  /** Of how many lost tensors that a maker made the stacks were taken. */
  lostStacks(maker: number): number {
    return this.origins.reduce((sum, origin) => sum + (origin.maker === maker ? origin.lost : 0), 0);
  }

  estimate(maker: number, fate: Fate): LineEstimate {
    return estimateLine(this.strata(maker, fate));
  }

  /** Those that have a fate, by the odds that their stacks had: it is decided by chance alone which of them were taken. */
  strata(maker: number, fate: Fate): readonly Stratum[] {
    const byWeight = new Map<number, { total: number; sampled: number; ofLine: number }>();
    for (const origin of this.origins) {
      const { weight, [fate]: count } = origin;
      if (count === 0) continue;
      let stratum = byWeight.get(weight);
      if (stratum === undefined) byWeight.set(weight, (stratum = { total: 0, sampled: 0, ofLine: 0 }));
      stratum.total += count;
      if (origin.maker !== undefined) stratum.sampled += count;
      if (origin.maker === maker) stratum.ofLine += count;
    }
    return [...byWeight.values()];
  }
}

/** What tensors of a kind are: alive now, or found lost or held by the last census. */
export type Fate = "alive" | "lost" | "held";

/** Tensors of a kind that one maker made, or of which that is not known, and whose stacks had the same odds. */
export class Origin {
  readonly kind: Kind;
  /** Undefined if their stacks were not taken. */
  readonly maker: number | undefined;
  /** How many tensors of its kind each stands for, or would have stood for. */
  readonly weight: number;
  alive = 0;
  lost = 0;
  held = 0;

  constructor(kind: Kind, maker: number | undefined, weight: number) {
    this.kind = kind;
    this.maker = maker;
    this.weight = weight;
  }
}
