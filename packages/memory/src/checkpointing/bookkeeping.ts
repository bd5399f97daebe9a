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

/** What the host is taken to need for giving a device one op of a PyTorch program, in milliseconds, where nobody measured it. */
const typicalLaunchMs = 0.02;

/** How the host and a device beside it share a step's time. */
export interface HostShare {
  /**
   * Whether the host's time was `measured` with the ops, is `assumed` beside a device's figures, or is `unknown`, since those are of less than a host takes: then what checkpointing takes of
   * it is no part of the step's time.
   */
  readonly known: "measured" | "assumed" | "unknown";
  /** What the host takes to give the device an op, in milliseconds; undefined where the host itself runs the ops. */
  readonly launchMs: number | undefined;
}

/**
 * Tells what of the host's work is part of a step's time. Where ops were timed that was measured, too. The times that a device's figures give are of its kernels alone: a step of which these
 * take longer than a host needs to give them is as long as they are, and checkpointing costs what it takes of the host as far as that falls behind; of a smaller one, in which the device waits for the
 * host anyway, nobody knows how long it is, and its kernels alone count.
 */
export function hostShare({ ops, header }: Trace): HostShare {
  if (ops.count > 0 && ops.runtimeSource.includes(RuntimeSource.measured)) {
    const launchMs = header.hostMs === undefined ? undefined : header.hostMs / ops.count;
    return { known: "measured", launchMs };
  }
  const kernelMs = ops.runtimeMs.reduce((sum, ms) => sum + (ms > 0 ? ms : 0), 0);
  return kernelMs > typicalLaunchMs * ops.count
    ? { known: "assumed", launchMs: typicalLaunchMs }
    : { known: "unknown", launchMs: undefined };
}
