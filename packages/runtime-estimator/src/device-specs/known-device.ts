import type { DeviceSpec } from "@remat/trace";

/** A device of the table, with other names for it. */
export interface KnownDevice {
  readonly spec: DeviceSpec;
  readonly otherNames: readonly string[];
}
