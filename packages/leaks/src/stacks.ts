import type { ReadSite, SourceSite } from "./source-site.js";
import { type StackAllowance, StackSampling, type StackStream } from "./stack-sampling.js";

/**
 * The reason for taking a stack: the kind of a tensor that is known to outlive periods, or why a tensor of an unknown
 * kind might.
 */
export type StackPurpose =
  | { readonly isVariable: boolean }
  | "many shapes"
  | "variable"
  | "values"
  | "early"
  | "outside"
  | "sheltered";

/** A stack that was taken. */
export interface TakenStack {
  /** The number of tensors that this stack represents. */
  readonly weight: number;
  read(): SourceSite;
}

/** Limits on taking stacks. */
export interface StackLimits extends Partial<StackAllowance> {
  /** Seed of the random numbers that choose stacks. */
  readonly seed?: number;
}

/** Takes stacks within limits, with a preference for tensors that are likely to outlive their period. */
export class Stacks {
  private readonly takeStack: () => ReadSite;
  /** Variables are few, and the most likely to outlive their period. */
  private readonly variables: StackSampling;
  private readonly likely: StackSampling;
  private readonly unlikely: StackSampling;
  private readonly early: StackSampling;
  private readonly streams = new Map<StackPurpose, StackStream>();

  constructor(now: () => number, takeStack: () => ReadSite, { share = 0.04, free = 4000, seed }: StackLimits = {}) {
    this.takeStack = takeStack;
    this.variables = new StackSampling(now, { share: share / 2, free }, seed);
    this.likely = new StackSampling(now, { share, free }, seed);
    this.unlikely = new StackSampling(now, { share: share / 8, free: free / 4 }, seed);
    this.early = new StackSampling(now, { share: 0, free: free / 2 }, seed);
  }

  /** Returns the stack of a tensor that is chosen, or the weight that it would have had. */
  readonly take = (purpose: StackPurpose): TakenStack | number => {
    const sampling = this.samplingFor(purpose);
    let stream = this.streams.get(purpose);
    if (stream === undefined) this.streams.set(purpose, (stream = sampling.open()));
    const taken = sampling.take(stream, this.takeStack);
    if (typeof taken === "number") return taken;
    const { stack, weight } = taken;
    const from = stream;
    return { weight, read: () => sampling.timed(from, stack) };
  };

  private samplingFor(purpose: StackPurpose): StackSampling {
    if (purpose === "early") return this.early;
    if (purpose === "variable" || (typeof purpose === "object" && purpose.isVariable)) return this.variables;
    return purpose === "outside" || purpose === "sheltered" ? this.unlikely : this.likely;
  }
}
