import type { DeviceSpec, Trace } from "@remat/trace";
import type { Pricing } from "../pricing-options.js";

/**
 * Returns the device that a step is judged for, whoever judges it: the one that was asked for, else that on which it was recorded, if the trace tells how much
 * memory that had, else the one that ops are priced for.
 */
export function verdictDevice(
  { header: { deviceMemoryBytes } }: Trace,
  { device, isAsked }: Pick<Pricing, "device" | "isAsked">,
): Pick<DeviceSpec, "name" | "memoryBytes"> {
  return isAsked || deviceMemoryBytes === undefined
    ? device
    : { name: "where it was recorded", memoryBytes: deviceMemoryBytes };
}
