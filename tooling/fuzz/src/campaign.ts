import type { BackendName } from "@remat/dispatch-hook/backends";

/** A finding of a fuzzer: the problem, and a test that reproduces it. */
export interface Finding {
  readonly what: string;
  readonly test: string;
  /** A seed that reproduces it. */
  readonly seed: number;
}

/** One run of one kind of fuzzer, on one backend, until its time is over. */
export interface Campaign {
  readonly backend: BackendName;
  readonly seed: number;
  /** Time limit. */
  readonly ms: number;
  /**
   * Minimum number of tries regardless of time. It covers all tries of a seed, so that a finding is reproduced even on
   * the busiest machine.
   */
  readonly leastTries: number;
  /** True if there is no time for another try. */
  readonly isOver: boolean;
  /** Reports the next try, so that a hang or crash can be attributed. */
  trying(what: string): void;
  found(finding: Finding): void;
}

/** A kind of fuzzer: one entry of the registry. */
export interface FuzzerKind {
  /** The subjects of tries, as a plural. */
  readonly title: string;
  /** Default backends. */
  readonly backends: readonly BackendName[];
  /** Share of the whole time, or 0 for a kind that runs only on request. */
  readonly share: number;
  /** Tries until the campaign is over. */
  run(campaign: Campaign): Promise<void>;
}
