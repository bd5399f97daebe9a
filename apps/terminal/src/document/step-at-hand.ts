import type { DeviceToFit, Verdict, VerdictOptions } from "@remat/reporting/verdict";
import type { Trace } from "@remat/trace";

type NextStep = Parameters<NonNullable<VerdictOptions["commandFor"]>>[0];

/** Facts about a step that are not in its trace, if its model or file is available. */
export interface StepAtHand {
  /** The step that plans are made for, if its ops differ. */
  readonly planned?: Trace | undefined;
  /** Its peak with early release. */
  readonly earlyReleasePeakBytes?: number | undefined;
  /** Returns the command for a next step on a device. */
  readonly commandFor?: (step: NextStep, device: DeviceToFit) => string | undefined;
  /** Judges the step with all ways to make it fit, which may take seconds. */
  readonly judge?: (device: DeviceToFit, signal: AbortSignal) => Promise<Verdict | undefined>;
}
