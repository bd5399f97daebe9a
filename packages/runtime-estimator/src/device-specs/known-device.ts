import type { DeviceSpec } from "@remat/trace";

/** A device of the table, with the names by which people also ask for it. */
export interface KnownDevice {
  readonly spec: DeviceSpec;
  readonly otherNames: readonly string[];
}
