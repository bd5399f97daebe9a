import { type DeviceSpec, RematError } from "@remat/trace";
import { amdGpus } from "./amd-gpus.js";
import { appleGpus } from "./apple-gpus.js";
import { cpus } from "./cpus.js";
import { integratedGpus } from "./integrated-gpus.js";
import type { KnownDevice } from "./known-device.js";
import { nvidiaGpus } from "./nvidia-gpus.js";

/** One entry for each device. The tables below are built from this list. */
const knownDevices: readonly KnownDevice[] = [...nvidiaGpus, ...amdGpus, ...appleGpus, ...integratedGpus, ...cpus];

/**
 * Well-known devices by name: peak dense TFLOP/s by dtype, memory bandwidth in GB/s, memory and allocation unit in
 * bytes, achievable shares, launch costs, and the source of the figures. `tf32` is for information only, because float32 ops are estimated with
 * `float32`.
 *
 * @example
 * deviceSpecs["h100"].memoryGBps; // 3350
 */
export const deviceSpecs: Readonly<Record<string, DeviceSpec>> = Object.fromEntries(
  knownDevices.map(({ spec }) => [spec.name, spec]),
);

/** Devices by name and by common other names. */
const byAnyName: ReadonlyMap<string, DeviceSpec> = new Map(
  knownDevices.flatMap(({ spec, otherNames }) => [spec.name, ...otherNames].map((name) => [name, spec])),
);

/** Returns the name of a device of the table for use in sentences. @example deviceLabel("m1-max") // "M1 Max" */
export function deviceLabel(name: string): string | undefined {
  return knownDevices.find(({ spec }) => spec.name === name)?.label;
}

/** The default device for a step that will train elsewhere. */
export const defaultDevice = "a100";

/**
 * The default device for a step that trains in this process. Its times determine which ops are cheap to recompute, and
 * the cost of an op that cannot be timed.
 */
export const defaultDeviceHere = "cpu";

/**
 * Returns the device called `name`. Case, spaces, underscores and a leading vendor name do not matter.
 *
 * @throws RematError `DEVICE_UNKNOWN`, which lists the names
 * @example
 * deviceSpec("NVIDIA A100-SXM").memoryGBps; // 2039
 */
export function deviceSpec(name: string): DeviceSpec {
  const key = name
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, "-")
    .replace(/^(nvidia|amd|apple|intel|geforce|tesla)-/, "")
    .replace(/^(geforce|tesla)-/, "")
    .replace(/^rtx(?=\d)/, "rtx-");
  const known = byAnyName.get(key);
  if (known !== undefined) return known;
  throw new RematError(
    "DEVICE_UNKNOWN",
    `unknown device '${name}'. Choose one of ${Object.keys(deviceSpecs).join(", ")}, or pass your device's figures to parseDeviceSpec.`,
  );
}
