import { type DeviceSpec, phaseNames } from "@remat/trace";
import { calibratedTime } from "./calibrated/calibrated-ms.js";
import type { OpCall, OpCost } from "./op-call.js";
import { type RooflineOptions, rooflineMs } from "./roofline.js";

/** An estimated time that depends on the phase of training only by its launch. */
export interface OpTime {
  /** Launch of the kernel, in milliseconds. 0 if the device is not calibrated. */
  readonly launchMs: number;
  /** Everything else, in milliseconds. */
  readonly workMs: number;
  /** Expected relative error, if the device is calibrated. NaN for a roofline, whose error is unknown. */
  readonly error: number;
}

/**
 * Returns the time of one op call on `device`: by the measured speed of its kernel if the device is calibrated,
 * otherwise by the roofline. With `asPytorch`, always by the roofline.
 */
export function opTime(call: OpCall, cost: OpCost, device: DeviceSpec, options: RooflineOptions = {}): OpTime {
  const time = options.asPytorch === true ? undefined : calibratedTime(call, cost, device);
  if (time === undefined) return { launchMs: 0, workMs: rooflineMs(cost, device, options), error: Number.NaN };
  return { ...time, error: device.calibration?.error ?? 0 };
}

/** Returns the factor of launch costs on a device by phase, in the order of `Phase`. */
export function launchFactorsOf({ calibration }: DeviceSpec): readonly number[] {
  const { launchFactors = {} } = calibration ?? {};
  return phaseNames.map((phase) => launchFactors[phase] ?? 1);
}
