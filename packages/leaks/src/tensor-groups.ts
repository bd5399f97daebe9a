import type { TensorBirth } from "@remat/dispatch-hook/tensors";
import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import { estimateLine, type LineEstimate, type Stratum } from "./line-estimate.js";
import type { SourceSite } from "./source-site.js";
import type { TakenStack } from "./stacks.js";

const mostShapes = 4;

/** A tensor of the current period. */
export interface Young {
  readonly tensor: Tensor;
  readonly birth: TensorBirth;
  readonly isVariable: boolean;
  /** Its stack, or the weight that the stack would have had if it had been chosen. */
  readonly stack: TakenStack | number;
  readonly module: string | undefined;
}

/**
 * Results of the last census for tensors that outlived a period: how many no longer had an object, and how many did.
 */
export class Fates {
  lost = 0;
  held = 0;
  kept = 0;
}

/** Tensors grouped by their properties or by their allocation site, with a row of counts. */
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

/** Tensors of one allocation site: made by one line and one op. Counts are estimates if only some stacks were taken. */
export class Maker extends Group {
  readonly site: SourceSite;
  readonly kinds: Set<Kind> = new Set();

  constructor(row: number, op: string, site: SourceSite, { isVariable, birth }: Pick<Young, "isVariable" | "birth">) {
    super(row, op, isVariable, birth.isInTidy);
    this.site = site;
  }
}

/** Similar tensors: made by one op, with one shape. Their number is exact. */
export class Kind extends Group {
  readonly origins: Origin[] = [];
  /** True if all of their stacks were taken. */
  isWhole = true;

  /** The allocation sites of the live tensors whose stacks were taken. */
  makers(): readonly number[] {
    const alive = this.origins.flatMap(({ maker, alive }) => (maker === undefined || alive === 0 ? [] : [maker]));
    return [...new Set(alive)];
  }

  /** How many stacks of a maker's lost tensors were taken. */
  lostStacks(maker: number): number {
    return this.origins.reduce((sum, origin) => sum + (origin.maker === maker ? origin.lost : 0), 0);
  }

  estimate(maker: number, fate: Fate): LineEstimate {
    return estimateLine(this.strata(maker, fate));
  }

  /**
   * Strata of the tensors with a fate, by the odds of their stacks. Within a stratum only chance decided which stacks
   * were taken.
   */
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

/** State of a kind's tensors: alive now, or found lost or referenced by the last census. */
export type Fate = "alive" | "lost" | "held";

/** Tensors of one kind and allocation site, known or not, whose stacks were taken with the same probability. */
export class Origin {
  readonly kind: Kind;
  /** Undefined if their stacks were not taken. */
  readonly maker: number | undefined;
  /** How many tensors of its kind each of them represents, or would represent if its stack had been taken. */
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
