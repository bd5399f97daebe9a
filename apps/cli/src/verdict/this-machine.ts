import { totalmem } from "node:os";
import type { DeviceSpec } from "@remat/trace";

/** Returns where steps are run that remat runs itself, with the memory that a process may have here: the machine's, or less where its control group says so. */
export function thisMachine(): Required<Pick<DeviceSpec, "name" | "memoryBytes">> {
  // From Node 20.14 on; 0, or more than there is, where nothing limits it.
  const { constrainedMemory } = process as { constrainedMemory?: () => number };
  const limit = constrainedMemory?.call(process) ?? 0;
  return { name: "this machine", memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem() };
}
