/**
 * Answers of PyTorch's SACEstimator: `results` of a `sac-oracle/1` file. Sets are lists in CPython's iteration order.
 */
export interface SacResults {
  readonly stats: Readonly<Record<string, GoldenStats>>;
  readonly greedy: Readonly<Record<string, GoldenOrder>>;
  readonly tradeoff_n_segments_2: Readonly<Record<string, GoldenTradeOff | { readonly error: string }>>;
  readonly text: { readonly depth: number; readonly plain: GoldenText; readonly tabular: GoldenText };
}

/** Printed text, or what was printed before an exception. */
export type GoldenText = string | { readonly error: string; readonly text: string };

export interface GoldenStats {
  readonly func_names: readonly string[];
  readonly runtimes: readonly number[];
  readonly memory: readonly number[];
  readonly view_like_ops: readonly number[];
  readonly rand_ops: readonly number[];
  readonly saved_autograd_ops: readonly number[];
  readonly inplace_ops: readonly (readonly [number, number])[];
  readonly force_store_random: boolean;
}

export interface GoldenCandidate {
  readonly func_names: readonly string[];
  readonly op_idx: number;
  readonly memory: number;
  readonly runtime: number;
  readonly msps: number;
}

export interface GoldenOrder {
  readonly recomputed_ops: readonly number[];
  readonly stored_ops: readonly number[];
  readonly inplace_op_groups: Readonly<Record<string, readonly number[]>>;
  readonly random_ops_group: Readonly<Record<string, readonly number[]>>;
  readonly msps_meta: readonly GoldenCandidate[];
}

export interface GoldenTradeOff {
  readonly n_segments: number;
  /** `"nan"` where upstream has no number. */
  readonly slopes: readonly (number | "nan")[];
  readonly intercepts: readonly (number | "nan")[];
  readonly fit_breaks: readonly number[];
  readonly tradeoff_curve: readonly (readonly [number, number])[];
  readonly sac_memory: number;
  readonly sac_runtime: number;
  readonly fit_x: readonly number[];
  readonly fit_y: readonly number[];
  readonly fit_ssr: number;
}
