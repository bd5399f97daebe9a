import { defaultTimeMs } from "../default-time-ms.js";
import type { RematerializeOptions } from "../rematerialize.js";

/** How much a search may take. @internal */
export type SearchEffort = Pick<RematerializeOptions, "timeMs" | "iterations">;

/**
 * The time, or the number of changes tried, of a whole call, shared out among its searches by weight: what one leaves over goes to those
 * after it.
 * @internal
 */
export class SharedEffort {
  readonly isTimed: boolean;
  /** All of it: milliseconds, or changes. */
  readonly total: number;
  private readonly began: number;
  private readonly deadline: number;
  private weightLeft: number;
  private iterationsLeft: number;

  /** `began`: when the call did; `reserveMs`: what its end takes. */
  constructor({ timeMs, iterations }: SearchEffort, weight: number, began: number, reserveMs: number) {
    this.isTimed = iterations === undefined;
    this.total = iterations ?? timeMs ?? defaultTimeMs;
    // Beside a number of changes, a time is a limit to it.
    this.deadline = began + (timeMs ?? (this.isTimed ? defaultTimeMs : Number.POSITIVE_INFINITY)) - reserveMs;
    this.began = began;
    this.weightLeft = weight;
    this.iterationsLeft = iterations ?? 0;
  }

  /** The moment (of `performance.now()`) at which `share` of the whole time has gone by since `from`; never, where no time is given. */
  momentAfter(share: number, from: number = this.began): number {
    return from + share * (this.deadline - this.began);
  }

  /** What is left of the time; without end where none is given. */
  get leftMs(): number {
    return Math.max(0, this.deadline - performance.now());
  }

  /** For each of several searches, by its weight, of which as many as there are `workers` are on at once. */
  take(weights: readonly number[], workers: number): SearchEffort[] {
    const weight = weights.reduce((sum, each) => sum + each, 0);
    const share = this.weightLeft > weight ? weight / this.weightLeft : 1;
    this.weightLeft -= weight;
    const spareMs = this.leftMs * share;
    const iterations = this.iterationsLeft * share;
    this.iterationsLeft -= iterations;
    const atOnce = Math.min(workers, weights.length);
    return weights.map((each) => ({
      // A search takes no longer than all of them may.
      ...(spareMs < Number.POSITIVE_INFINITY && { timeMs: spareMs * Math.min(1, (each / weight) * atOnce) }),
      ...(!this.isTimed && { iterations: Math.ceil((iterations * each) / weight) }),
    }));
  }
}
