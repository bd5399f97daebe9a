/** The treatment of each call of one module by `torch.utils.checkpoint`. */
export interface CheckpointedUnit {
  /** Fully qualified name of the module in the trace. */
  readonly fqn: string;
  /**
   * Positions of the saved ops among the forward ops of a call, or empty for full checkpointing. Ops inside submodules
   * count, and queries do not.
   */
  readonly saved: readonly number[];
  /**
   * Restricts checkpointing to a part of each call, given as positions among its forward ops: the first, and one past
   * the last. `remat.apply` runs the ops of the part again that the backward pass needs. No module around or inside a
   * part is checkpointed. The ops at `kept` never run again, because they have effects or read a storage that is
   * overwritten later. Their results are kept alive.
   */
  readonly ops?: readonly [begin: number, end: number, kept?: readonly number[]];
}

/** The modules that run under `torch.utils.checkpoint`. Fully checkpointed modules may be nested. */
export type CheckpointPolicy = readonly CheckpointedUnit[];
