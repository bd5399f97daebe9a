import type { DeviceSpec, Trace } from "@remat/trace";

/** The name of the device on which a step was recorded, if the user gave no name. */
export const whereRecorded = "where it was recorded";

/** A device that a step should fit. */
export interface DeviceToFit extends Pick<DeviceSpec, "name" | "memoryBytes"> {
  /** True if it is remat's default. Left out if the user chose it. */
  readonly isDefault?: boolean;
}

/**
 * Returns the device that a step is judged for. If the user asked for `device`, returns `device`. Otherwise returns the
 * device on which the step was recorded, if the trace states the memory of that device. If it does not, returns
 * `device`, marked as the default.
 */
export function deviceToFit({ header }: Trace, device: DeviceToFit, isAsked: boolean): DeviceToFit {
  const { deviceMemoryBytes } = header;
  if (isAsked) return device;
  if (deviceMemoryBytes !== undefined) return { name: whereRecorded, memoryBytes: deviceMemoryBytes };
  const { name, memoryBytes } = device;
  return { name, ...(memoryBytes !== undefined && { memoryBytes }), isDefault: true };
}
