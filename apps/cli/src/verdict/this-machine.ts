import { machineMemoryBytes } from "@remat/backends";
import type { DeviceSpec } from "@remat/trace";

/** Returns where steps are run that remat runs itself, with the memory that a process may have here. */
export function thisMachine(): Pick<DeviceSpec, "name" | "memoryBytes"> {
  const memoryBytes = machineMemoryBytes();
  return { name: "this machine", ...(memoryBytes !== undefined && { memoryBytes }) };
}
