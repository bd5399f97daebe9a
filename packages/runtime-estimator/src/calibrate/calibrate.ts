import type { DeviceSpec } from "@remat/trace";
import type { CalibrationCase } from "./calibration-case.js";

/** A device with measured speeds. */
export type CalibratedDevice = DeviceSpec & Required<Pick<DeviceSpec, "kernels" | "calibration">>;

/** Options of `calibrate`. */
export interface CalibrateOptions {
  /** Time for measuring, in milliseconds. Checking the ops before takes some seconds more. Default: 40,000. */
  readonly budgetMs?: number;
  /** Name of the device. Default: `here`. */
  readonly name?: string;
  /** Memory of the device in bytes, and whether its CPU uses oneDNN, if known. */
  readonly facts?: Pick<DeviceSpec, "memoryBytes" | "oneDnn">;
  /** Called after each op that was checked, and after each round of measuring. */
  readonly onProgress?: (progress: CalibrationProgress) => void;
  /** Stops between two ops or rounds. */
  readonly signal?: AbortSignal;
  /** The ops to measure. Default: all. */
  readonly cases?: readonly CalibrationCase[];
}

/** Progress of `calibrate`. */
export interface CalibrationProgress {
  readonly phase: "checking" | "measuring";
  /** Share of this phase that is done, from 0 to 1. */
  readonly share: number;
}

/**
 * Measures a designed set of ops on the current backend, and fits the speed of each kernel: launch cost, bandwidth
 * within and beyond the cache, and FLOP/s. The result is a device whose ops `priceTrace` prices by these speeds.
 *
 * Ops run in rounds, in the mixed order of a real step, and each counts with the median of its rounds. Times are the
 * shorter of wall time and CPU time, so other programs on the machine hardly affect them. An op that fails, or that
 * takes too long at some size, is left out and noted.
 *
 * @throws RematError `CALIBRATE_BACKEND` if kernels of the backend may still run after they return; also the reason of
 *   `signal`
 * @example
 * await tf.setBackend("cpu");
 * const device = await calibrate({ budgetMs: 20_000 });
 * const timed = priceTrace(trace, device);
 */
export async function calibrate(options: CalibrateOptions = {}): Promise<CalibratedDevice> {
  // The tracer imports tfjs-layers, which registers classes when it is loaded.
  const { measureDevice } = await import("./measure-device.js");
  return measureDevice(options);
}
