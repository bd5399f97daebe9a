import { RuntimeSource, type Trace } from "@remat/trace";

/**
 * What `torch.utils.checkpoint` takes by itself, in milliseconds: it runs in Python, whatever the device computes. Measured with PyTorch 2.13 on one
 * core of a server (modules of 1, 10 and 20 layers of 4 units, whose ops take next to nothing).
 *
 * @internal
 */
export const bookkeeping = {
  /** To enter a checkpointed call, and to begin to run it again. */
  frameMs: 0.1,
  /** The same of selective checkpointing, besides. */
  selectiveFrameMs: 0.08,
  /** For each tensor that is not saved, and for each that is saved by running again. */
  saveMs: 0.009,
  /** For each op under the dispatch modes of selective checkpointing, in either pass. */
  dispatchMs: 0.015,
  /** For each op of a call that has parts: to tell it from the others, and to keep it. */
  countMs: 0.02,
  /** For each op of a part that runs again. */
  rerunMs: 0.01,
} as const;

/**
 * Tells whether what checkpointing takes by itself is part of a step's time: where that was measured. The times that a device's figures give are of its kernels alone,
 * and have nothing of what the host does meanwhile, with checkpointing or without.
 *
 * @internal
 */
export function countsBookkeeping({ ops }: Trace): boolean {
  return ops.runtimeSource.includes(RuntimeSource.measured);
}
