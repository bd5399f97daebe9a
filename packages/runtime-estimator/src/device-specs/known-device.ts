import type { DeviceSpec } from "@remat/trace";

/** A device of the table, with other names for it. */
export interface KnownDevice {
  readonly spec: DeviceSpec;
  /** The name in sentences. */
  readonly label: string;
  readonly otherNames: readonly string[];
}
