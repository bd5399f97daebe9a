import type { DeviceSpec } from "@remat/trace";
import { calibratedMs } from "./calibrated/calibrated-ms.js";
import type { OpCall, OpCost } from "./op-call.js";
import { type RooflineOptions, rooflineMs } from "./roofline.js";

/** An estimated time, and how far it may be off. */
export interface OpTime {
  /** Milliseconds. */
  readonly ms: number;
  /** Expected error in milliseconds, if the device is calibrated. NaN for a roofline, whose error is unknown. */
  readonly spreadMs: number;
}

/**
 * Returns the time of one op call on `device`: by the measured speed of its kernel if the device is calibrated,
 * otherwise by the roofline. With `asPytorch`, always by the roofline.
 */
export function opTime(call: OpCall, cost: OpCost, device: DeviceSpec, options: RooflineOptions = {}): OpTime {
  const ms = options.asPytorch === true ? undefined : calibratedMs(call, cost, device);
  if (ms === undefined) return { ms: rooflineMs(cost, device, options), spreadMs: Number.NaN };
  return { ms, spreadMs: ms * (device.calibration?.error ?? 0) };
}
