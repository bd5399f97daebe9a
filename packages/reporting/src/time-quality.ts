import { RuntimeSource, type Trace } from "@remat/trace";
import { formatEstimatedMs, formatMs } from "./format-quantity.js";
import { labelDevice } from "./verdict/label-device.js";

/** Formats milliseconds. */
export type TimeFormat = (ms: number) => string;

type TimedOps = { readonly ops: Pick<Trace["ops"], "runtimeSource"> };

/** Returns whether all times of a trace are estimates of a roofline model. False if any was measured or imported. */
export function isEstimated({ ops: { runtimeSource } }: TimedOps): boolean {
  return (
    runtimeSource.includes(RuntimeSource.roofline) &&
    !runtimeSource.includes(RuntimeSource.measured) &&
    !runtimeSource.includes(RuntimeSource.imported)
  );
}

/**
 * Returns a formatter for the times of a trace: with two significant digits if they are estimates, or with four if they
 * were measured.
 */
export function timeFormat(trace: TimedOps): TimeFormat {
  return isEstimated(trace) ? formatEstimatedMs : formatMs;
}

/**
 * Describes how the times of a report were obtained.
 *
 * @param device the device of the estimate, or another description of the source
 * @example describePricing("a100", true) // "estimated for A100 (roofline, not calibrated)"
 */
export function describePricing(device: string, estimated: boolean): string {
  return `estimated for ${labelDevice(device)}${estimated ? " (roofline, not calibrated)" : ""}`;
}
