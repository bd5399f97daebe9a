import { defaultTimeMs } from "../default-time-ms.js";
import type { RematerializeOptions } from "../rematerialize.js";

/** The limits of a search. @internal */
export type SearchEffort = Pick<RematerializeOptions, "timeMs" | "iterations">;

/**
 * Divides the time, or the number of changes, of a whole call among its searches by weight. Later searches get the
 * effort that earlier ones did not use. @internal
 */
export class SharedEffort {
  readonly isTimed: boolean;
  /** The total effort in milliseconds or changes. */
  readonly total: number;
  private readonly began: number;
  private readonly deadline: number;
  private weightLeft: number;
  private iterationsLeft: number;

  /**
   * @param effort the limits of the call
   * @param weight the total weight of its searches
   * @param began the time when the call began
   * @param reserveMs the time needed at its end
   */
  constructor({ timeMs, iterations }: SearchEffort, weight: number, began: number, reserveMs: number) {
    this.isTimed = iterations === undefined;
    this.total = iterations ?? timeMs ?? defaultTimeMs;
    // If a number of changes is given, a time only limits it.
    this.deadline = began + (timeMs ?? (this.isTimed ? defaultTimeMs : Number.POSITIVE_INFINITY)) - reserveMs;
    this.began = began;
    this.weightLeft = weight;
    this.iterationsLeft = iterations ?? 0;
  }

  /**
   * Returns the time (of `performance.now()`) at which `share` of the total time has passed since `from`, or infinite
   * if no time is given.
   */
  momentAfter(share: number, from: number = this.began): number {
    return from + share * (this.deadline - this.began);
  }

  /** The remaining time in milliseconds, or infinite if no time is given. */
  get leftMs(): number {
    return Math.max(0, this.deadline - performance.now());
  }

  /** Divides effort among several searches by their weights. `workers` of them run at the same time. */
  take(weights: readonly number[], workers: number): SearchEffort[] {
    const weight = weights.reduce((sum, each) => sum + each, 0);
    const share = this.weightLeft > weight ? weight / this.weightLeft : 1;
    this.weightLeft -= weight;
    const spareMs = this.leftMs * share;
    const iterations = this.iterationsLeft * share;
    this.iterationsLeft -= iterations;
    const atOnce = Math.min(workers, weights.length);
    return weights.map((each) => ({
      // A search takes no longer than the time for all of them.
      ...(spareMs < Number.POSITIVE_INFINITY && { timeMs: spareMs * Math.min(1, (each / weight) * atOnce) }),
      ...(!this.isTimed && { iterations: Math.ceil((iterations * each) / weight) }),
    }));
  }
}
