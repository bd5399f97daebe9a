import { type DeviceSpec, RematError } from "@remat/trace";
import { appleGpus } from "./apple-gpus.js";
import { cpus } from "./cpus.js";
import type { KnownDevice } from "./known-device.js";
import { nvidiaGpus } from "./nvidia-gpus.js";

/** One entry for each device; the tables below are made from it. */
const knownDevices: readonly KnownDevice[] = [...nvidiaGpus, ...appleGpus, ...cpus];

/**
 * Figures of well-known devices by name: peak dense TFLOP/s by dtype, memory bandwidth in GB/s, memory and allocation unit in bytes,
 * and in `source` where they come from. `tf32` is there to be read; float32 ops are priced by `float32`.
 *
 * @example
 * deviceSpecs["h100"].memoryGBps; // 3350
 */
export const deviceSpecs: Readonly<Record<string, DeviceSpec>> = Object.fromEntries(
  knownDevices.map(({ spec }) => [spec.name, spec]),
);

/** Devices by their own names and by the others that people ask for. */
const byAnyName: ReadonlyMap<string, DeviceSpec> = new Map(
  knownDevices.flatMap(({ spec, otherNames }) => [spec.name, ...otherNames].map((name) => [name, spec])),
);

/** The device that a step is priced for where nobody names one and it is to be trained elsewhere. */
export const defaultDevice = "a100";

/** That for a step which is trained here, in this process: whose times decide what is cheap to recompute, and what an op costs that cannot be timed. */
export const defaultDeviceHere = "cpu";

/**
 * Returns the device called `name`; case, spaces, underscores and a vendor in front do not matter. Throws `RematError` (`DEVICE_UNKNOWN`) that
 * lists the names.
 *
 * @example
 * deviceSpec("NVIDIA A100-SXM").memoryGBps; // 2039
 */
export function deviceSpec(name: string): DeviceSpec {
  const key = name
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, "-")
    .replace(/^(nvidia|apple|geforce|tesla)-/, "")
    .replace(/^(geforce|tesla)-/, "")
    .replace(/^rtx(?=\d)/, "rtx-");
  const known = byAnyName.get(key);
  if (known !== undefined) return known;
  throw new RematError(
    "DEVICE_UNKNOWN",
    `unknown device '${name}': expected one of ${Object.keys(deviceSpecs).join(", ")}; or give your own device's figures to parseDeviceSpec`,
  );
}
