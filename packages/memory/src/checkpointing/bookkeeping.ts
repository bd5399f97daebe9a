import { type CheckpointingTimes, hostLaunchUs, RuntimeSource, type Trace } from "@remat/trace";

/**
 * Checkpointing overhead to assume if it was not measured. Measured with PyTorch 2.13 on one core of a server, on
 * modules of 1, 10 and 20 layers of 4 units, whose ops take almost no time.
 */
const typicalTimes: CheckpointingTimes = {
  frame: 0.1,
  selective: 0.08,
  save: 0.009,
  dispatch: 0.015,
  count: 0.02,
  rerun: 0.01,
};

/**
 * Returns the checkpointing overhead of a step in addition to recomputation, as measured on the machine that timed the
 * ops. If it was not measured, returns typical values. @internal
 */
export function bookkeepingOf({ header }: Trace): CheckpointingTimes {
  return header.checkpointingMs ?? typicalTimes;
}

/** Time in milliseconds that a host is assumed to need to launch one op of a PyTorch program, if not measured. */
const typicalLaunchMs = hostLaunchUs.pytorch / 1000;

/** How the host and an asynchronous device share the time of a step. */
export interface HostShare {
  /**
   * The source of the host's time: `measured` with the ops, `assumed` for ops estimated from a device's specification,
   * or `unknown`. It is unknown if the estimated kernels take less time than a host needs to launch them. In that case,
   * checkpointing overhead is not part of the step's time.
   */
  readonly known: "measured" | "assumed" | "unknown";
  /** Time the host takes to launch an op on the device, in milliseconds. Undefined if the host itself runs the ops. */
  readonly launchMs: number | undefined;
}

/**
 * Returns how much of the host's work is part of a step's time.
 *
 * - If the ops were timed, the host's time was measured as well.
 * - Estimated times are those of kernels alone. If the kernels take longer than a host needs to launch them, they
 *   determine the time of the step. Checkpointing then adds time only if the host falls behind the device.
 * - If the device waits for the host even without checkpointing (small models), the time of the step is unknown, and
 *   only its kernels count.
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
