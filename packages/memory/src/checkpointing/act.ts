/** What happens at a place of a recorded step, and to what: an op, a storage, a save or a module call. @internal */
export const Act = {
  op: 0,
  make: 1,
  /** Nothing refers to a storage any longer but what autograd has saved. */
  unrefer: 2,
  save: 3,
  unpack: 4,
  unsave: 5,
  enter: 6,
  exit: 7,
  /** Whatever else a trace tells, by its place among the trace's events. Only of {@link wholeScript}. */
  event: 8,
  /** A storage is given other bytes, or none, as those of sharded weights are. */
  resize: 9,
} as const;
