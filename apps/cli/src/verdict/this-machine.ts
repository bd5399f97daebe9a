import { machineMemoryBytes, usesOneDnn } from "@remat/backends";
import type { DeviceSpec } from "@remat/trace";

/** Returns where steps are run that remat runs itself, with the memory that a process may have here, and by what its CPU computes. */
export function thisMachine(): Pick<DeviceSpec, "name" | "memoryBytes" | "oneDnn"> {
  const memoryBytes = machineMemoryBytes();
  const oneDnn = usesOneDnn();
  return {
    name: "this machine",
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(oneDnn !== undefined && { oneDnn }),
  };
}
