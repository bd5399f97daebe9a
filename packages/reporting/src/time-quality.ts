import { RuntimeSource, type Trace } from "@remat/trace";
import { formatEstimatedMs, formatMs } from "./format-quantity.js";
import { labelDevice } from "./verdict/label-device.js";

/** Formats milliseconds. */
export type TimeFormat = (ms: number) => string;

type TimedOps = { readonly ops: Pick<Trace["ops"], "runtimeSource"> };

/** How the op times of a trace were obtained. A trace with some measured times counts as measured. */
type TimeQuality = "estimated" | "measured" | "imported" | "unknown";

function timeQuality({ ops: { runtimeSource } }: TimedOps): TimeQuality {
  if (runtimeSource.includes(RuntimeSource.measured)) return "measured";
  if (runtimeSource.includes(RuntimeSource.imported)) return "imported";
  return runtimeSource.includes(RuntimeSource.roofline) ? "estimated" : "unknown";
}

/** Returns whether all times of a trace are estimates of a roofline model. False if any was measured or imported. */
export function isEstimated(trace: TimedOps): boolean {
  return timeQuality(trace) === "estimated";
}

/**
 * Returns a formatter for the times of a trace: with two significant digits if they are estimates, or with four if they
 * were measured.
 */
export function timeFormat(trace: TimedOps): TimeFormat {
  return isEstimated(trace) ? formatEstimatedMs : formatMs;
}

/**
 * Describes how the times of a trace were obtained.
 *
 * @param device the device of an estimate
 * @example describeTimes("a100", trace) // "estimated for A100 (roofline, not calibrated)"
 */
export function describeTimes(device: string, trace: TimedOps): string {
  const quality = timeQuality(trace);
  if (quality === "measured" || quality === "imported") return `${quality} times`;
  return quality === "estimated" ? describeEstimate(device) : `for ${labelDevice(device)}`;
}

/** Describes times that a roofline model estimated for `device`. */
export function describeEstimate(device: string): string {
  return `estimated for ${labelDevice(device)} (roofline, not calibrated)`;
}
