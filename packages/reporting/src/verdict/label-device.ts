import type { DeviceToFit } from "./device-to-fit.js";

/** NVIDIA's GPUs, by their names in `deviceSpecs`. */
const gpuName = /^(?:rtx-\d+|[a-z]\d+s?)(?:-(?:\d+gb|pcie|nvl))?$/;

/** Returns how a device is called in sentences. @example labelDevice("a100-40gb") // "A100 40GB" */
export function labelDevice(name: string): string {
  if (name === "here") return "this machine";
  return gpuName.test(name) ? name.toUpperCase().replaceAll("-", " ") : name;
}

/** Returns a device for the parentheses after a size: if nobody chose it, that it is the default, and with `isLong` how to choose another. */
export function labelDeviceToFit({ name, isDefault = false }: DeviceToFit, isLong: boolean): string {
  if (!isDefault) return labelDevice(name);
  return `${labelDevice(name)}, the default${isLong ? "; --device here for this machine" : ""}`;
}
