import { readFileSync } from "node:fs";
import { deviceSpec, deviceSpecs, parseDeviceSpec } from "@remat/runtime-estimator";
import { type DeviceSpec, RematError } from "@remat/trace";
import { quote, UsageError } from "./usage-error.js";

/** A device by name, or from a JSON file. */
export function readDevice(nameOrPath: string): DeviceSpec {
  if (!nameOrPath.endsWith(".json")) return deviceByName(nameOrPath);
  let text: string;
  try {
    text = readFileSync(nameOrPath, "utf8");
  } catch (cause) {
    throw new RematError(
      "DEVICE_FILE",
      `${nameOrPath}: cannot be read (${(cause as Error).message}). Expected a JSON file with a device's figures.`,
      { cause },
    );
  }
  try {
    return parseDeviceSpec(JSON.parse(text) as never);
  } catch (cause) {
    throw new RematError("DEVICE_FILE", `${nameOrPath}: ${(cause as Error).message}`, { cause });
  }
}

function deviceByName(name: string): DeviceSpec {
  try {
    return deviceSpec(name);
  } catch {
    const known = Object.keys(deviceSpecs).join(", ");
    throw new UsageError(`there is no device ${quote(name)}. Expected one of ${known}, or a JSON file with your own.`);
  }
}
