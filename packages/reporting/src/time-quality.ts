import { RuntimeSource, type Trace } from "@remat/trace";
import { formatEstimatedMs, formatMs, formatWholePercent } from "./format-quantity.js";
import { labelDevice } from "./verdict/label-device.js";

/** Formats milliseconds. */
export type TimeFormat = (ms: number) => string;

type TimedOps = {
  readonly ops: Pick<Trace["ops"], "runtimeSource"> & Partial<Pick<Trace["ops"], "runtimeMs" | "runtimeSpreadMs">>;
};

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
  return quality === "estimated" ? describeEstimate(device, estimateError(trace)) : `for ${labelDevice(device)}`;
}

/**
 * Describes times that were estimated for `device`.
 *
 * @param error the expected error of {@link estimateError}, if the device is calibrated
 */
export function describeEstimate(device: string, error?: string): string {
  const how = error === undefined ? "roofline, not calibrated" : `calibrated, ${error}`;
  return `estimated for ${labelDevice(device)} (${how})`;
}

/** Returns the expected error of estimates by a calibrated device. Undefined for estimates by a roofline. */
export function estimateError({ ops: { runtimeMs = none, runtimeSpreadMs = none } }: TimedOps): string | undefined {
  const op = runtimeMs.findIndex((ms, at) => ms > 0 && runtimeSpreadMs[at] >= 0);
  return op === -1 ? undefined : formatError(runtimeSpreadMs[op] / runtimeMs[op]);
}

const none = new Float64Array(0);

/** Formats a relative error. @example formatError(0.15) // "±15%" */
export function formatError(share: number): string {
  return `±${formatWholePercent(share)}`;
}
