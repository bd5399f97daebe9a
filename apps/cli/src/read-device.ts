import { readFileSync } from "node:fs";
import { deviceSpec, parseDeviceSpec } from "@remat/runtime-estimator";
import { type DeviceSpec, RematError } from "@remat/trace";

/** A device by name, or from a JSON file. */
export function readDevice(nameOrPath: string): DeviceSpec {
  if (!nameOrPath.endsWith(".json")) return deviceSpec(nameOrPath);
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
