import { createHash } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "@remat/dispatch-hook/backends/node";
import { describeMachine, parseDeviceSpec } from "@remat/runtime-estimator";
import { type DeviceSpec, parseJsonText } from "@remat/trace";
import { readInputText, replaceFile } from "@remat/trace/files";
import { installedVersion } from "../installed-version.js";

/** The calibration of this machine for a backend, if there is a current one. */
export interface FoundCalibration {
  readonly device: DeviceSpec | undefined;
  /** Explains why no calibration is used. */
  readonly note: string | undefined;
}

const folderOfCalibrations = (): string => join(cacheFolder(), "calibrations");

/**
 * Returns the file of the calibration of a backend on this machine. Its name depends on the processor, Node and
 * TensorFlow.js, so another machine that shares the folder, or another version, has a file of its own.
 */
export function calibrationFile(backend: string): string {
  const identity = createHash("sha256")
    .update(`${describeMachine()}; tfjs ${installedVersion("@tensorflow/tfjs-core")}`)
    .digest("hex")
    .slice(0, 12);
  return join(folderOfCalibrations(), `${backend}-${identity}.json`);
}

/** Looks up the calibration of a backend on this machine. */
export function findCalibration(backend: string): FoundCalibration {
  const cure = `Run remat calibrate${backend === "tensorflow" ? "" : ` --backend ${backend}`} to measure this machine (one minute)`;
  try {
    const device = parseDeviceSpec(parseJsonText(readInputText(calibrationFile(backend))) as never);
    if (device.calibration?.backend === backend) return { device, note: undefined };
  } catch {
    // A missing or damaged file is as good as none.
  }
  const reason = hasAny(backend)
    ? `the calibration of ${backend} is of another machine or version, so it was not used`
    : "this machine is not calibrated, so times are for a typical CPU";
  return { device: undefined, note: `${reason}. ${cure}` };
}

/** Saves a calibration, and returns its file. */
export function keepCalibration(device: DeviceSpec, backend: string): string {
  const path = calibrationFile(backend);
  mkdirSync(folderOfCalibrations(), { recursive: true });
  replaceFile(path, calibrationText(device));
  return path;
}

/** A device file as JSON that a person can read. */
export function calibrationText(device: DeviceSpec): string {
  return `${JSON.stringify(device, (_key, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(6)) : value), 2)}\n`;
}

function hasAny(backend: string): boolean {
  try {
    return readdirSync(folderOfCalibrations()).some((name) => name.startsWith(`${backend}-`));
  } catch {
    return false;
  }
}
