import type { DeviceToFit, Verdict, VerdictOptions } from "@remat/reporting/verdict";
import type { Trace } from "@remat/trace";

type NextStep = Parameters<NonNullable<VerdictOptions["commandFor"]>>[0];

/** What is known of a step besides its trace, where its model or file is at hand. */
export interface StepAtHand {
  /** The step as plans are made of it, where its ops are others. */
  readonly planned?: Trace | undefined;
  /** What it holds with early release. */
  readonly earlyReleasePeakBytes?: number | undefined;
  /** Returns what to type for a next step, meant for a device. */
  readonly commandFor?: (step: NextStep, device: DeviceToFit) => string | undefined;
  /** Judges it with all that would make it fit, which may take seconds. */
  readonly judge?: (device: DeviceToFit, signal: AbortSignal) => Promise<Verdict | undefined>;
}
