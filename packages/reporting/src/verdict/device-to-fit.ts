import type { DeviceSpec, Trace } from "@remat/trace";

/** What stands for the name of a device that nobody has named. */
export const whereRecorded = "where it was recorded";

/** A device that a step is to fit. */
export type DeviceToFit = Pick<DeviceSpec, "name" | "memoryBytes">;

/**
 * Returns the device that a step is judged for, whoever judges it: `device` if that was asked for, else that on which the step was recorded, where the trace
 * tells how much memory there was, else `device`.
 */
export function deviceToFit({ header }: Trace, device: DeviceToFit, isAsked: boolean): DeviceToFit {
  const { deviceMemoryBytes } = header;
  return isAsked || deviceMemoryBytes === undefined ? device : { name: whereRecorded, memoryBytes: deviceMemoryBytes };
}
