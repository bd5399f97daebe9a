import type { DeviceSpec, Trace } from "@remat/trace";

/** Stands in for the name of an unnamed device. */
export const whereRecorded = "where it was recorded";

/** A device that a step has to fit on. */
export type DeviceToFit = Pick<DeviceSpec, "name" | "memoryBytes">;

/**
 * Returns the device that a step is judged for: `device` if the user asked for it. Otherwise the device on which the
 * step was recorded, if the trace has its memory size, and `device` if not.
 */
export function deviceToFit({ header }: Trace, device: DeviceToFit, isAsked: boolean): DeviceToFit {
  const { deviceMemoryBytes } = header;
  return isAsked || deviceMemoryBytes === undefined ? device : { name: whereRecorded, memoryBytes: deviceMemoryBytes };
}
