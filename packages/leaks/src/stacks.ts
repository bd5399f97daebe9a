import type { ReadSite, SourceSite } from "./source-site.js";
import { type StackAllowance, StackSampling, type StackStream } from "./stack-sampling.js";

/** What a stack is taken for: a tensor of a kind that outlives periods, which that object stands for, or of one that is not known to. */
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
  /** The number of tensors that its own stands for. */
  readonly weight: number;
  read(): SourceSite;
}

export interface StackLimits extends Partial<StackAllowance> {
  /** Of the random numbers by which stacks are chosen. */
  readonly seed?: number;
}

/** Takes stacks within limits, more of them for tensors that are likely to outlive their period. */
export class Stacks {
  private readonly takeStack: () => ReadSite;
  /** Few, and the most likely of all to outlive their period. */
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
