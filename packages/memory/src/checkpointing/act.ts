/**
 * The kinds of actions in the script of a recorded step. The subject is an op, a storage, a save or a module call.
 * @internal
 */
export const Act = {
  op: 0,
  make: 1,
  /** From here on only autograd's saved tensors refer to the storage. */
  unrefer: 2,
  save: 3,
  unpack: 4,
  unsave: 5,
  enter: 6,
  exit: 7,
  /** Any other event of the trace, by its position among the trace's events. Only in {@link wholeScript}. */
  event: 8,
  /** A storage is resized, possibly to nothing, like those of sharded weights. */
  resize: 9,
} as const;
