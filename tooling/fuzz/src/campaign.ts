import type { BackendName } from "@remat/dispatch-hook/backends";

/** What a fuzzer has found: what is wrong, and a test that shows it. */
export interface Finding {
  readonly what: string;
  readonly test: string;
  /** With which the same is found again. */
  readonly seed: number;
}

/** One run of one kind of fuzzer, on one backend, until its time is over. */
export interface Campaign {
  readonly backend: BackendName;
  readonly seed: number;
  /** How long it may take. */
  readonly ms: number;
  /** As many are tried as time allows, but no fewer than this: all of a seed, so that what is found is found again on the busiest machine. */
  readonly leastTries: number;
  /** Whether there is no time for another try. */
  readonly isOver: boolean;
  /** Tells what is tried next, so that what hangs or crashes is known. */
  trying(what: string): void;
  found(finding: Finding): void;
}

/** A kind of fuzzer: one entry of the registry. */
export interface FuzzerKind {
  /** What is tried, as a plural. */
  readonly title: string;
  /** On which it runs where none is named. */
  readonly backends: readonly BackendName[];
  /** Of the whole time; 0 for a kind that runs only where it is named. */
  readonly share: number;
  /** Tries until the campaign is over. */
  run(campaign: Campaign): Promise<void>;
}
