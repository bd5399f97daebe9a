/** What `torch.utils.checkpoint` does with each call of one module. */
export interface CheckpointedUnit {
  /** As the trace has it. */
  readonly fqn: string;
  /** Places among the forward ops of a call of what it saves; empty for full checkpointing. Ops inside other modules of it count, queries do not. */
  readonly saved: readonly number[];
  /**
   * Of a part of each call alone: places among its forward ops, from the first to the one after the last. `remat.apply` runs those ops again, and of them only what
   * is asked for; nothing is checkpointed around a part, nor inside it. The ops at `kept` never run again, since they have effects or read what is written into later: their results are held.
   */
  readonly ops?: readonly [begin: number, end: number, kept?: readonly number[]];
}

/** Which modules run under `torch.utils.checkpoint`; full ones may stand inside full ones. */
export type CheckpointPolicy = readonly CheckpointedUnit[];
