import { deviceLabel } from "@remat/runtime-estimator";
import type { DeviceToFit } from "./device-to-fit.js";

/** Returns the name of a device for use in sentences. @example labelDevice("a100-40gb") // "A100 40GB" */
export function labelDevice(name: string): string {
  if (name === "here") return "this machine";
  return deviceLabel(name) ?? name;
}

/**
 * Returns the name of a device for the parentheses after a size. If it is the default device, the text says so. With
 * `isLong`, it also says how to choose another device.
 */
export function labelDeviceToFit({ name, isDefault = false }: DeviceToFit, isLong: boolean): string {
  if (!isDefault) return labelDevice(name);
  return `${labelDevice(name)}, the default${isLong ? "; --device here for this machine" : ""}`;
}
