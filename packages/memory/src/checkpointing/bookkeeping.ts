import { type CheckpointingTimes, RuntimeSource, type Trace } from "@remat/trace";

/** What checkpointing takes where it was not measured: of PyTorch 2.13 on one core of a server (modules of 1, 10 and 20 layers of 4 units, whose ops take next to nothing). */
const typicalTimes: CheckpointingTimes = {
  frame: 0.1,
  selective: 0.08,
  save: 0.009,
  dispatch: 0.015,
  count: 0.02,
  rerun: 0.01,
};

/** What checkpointing itself takes in a step, beside what runs again: on the machine that timed its ops, or a typical one. @internal */
export function bookkeepingOf({ header }: Trace): CheckpointingTimes {
  return header.checkpointingMs ?? typicalTimes;
}

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
