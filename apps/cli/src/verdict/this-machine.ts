import { machineMemoryBytes, usesOneDnn } from "@remat/dispatch-hook/backends";
import { deviceKind } from "@remat/memory";
import type { DeviceSpec } from "@remat/trace";
import { gpuMemoryBytes } from "../nvidia-smi.js";

/** Where steps are run that remat runs itself or has a program run. */
export type Machine = Pick<DeviceSpec, "name" | "memoryBytes" | "oneDnn">;

/**
 * Returns the machine for steps whose tensors are on a device as a trace names it, `cpu` unless given: with the memory that a process may have there, and by what its CPU computes. That of a
 * GPU is what NVIDIA's driver tells; undefined where it tells none, or several that differ.
 */
export function thisMachine(device = "cpu"): Machine {
  if (deviceKind(device) !== "cpu") {
    const memoryBytes = deviceKind(device) === "cuda" ? gpuMemoryBytes() : undefined;
    return { name: `${device} of this machine`, ...(memoryBytes !== undefined && { memoryBytes }) };
  }
  const memoryBytes = machineMemoryBytes();
  const oneDnn = usesOneDnn();
  return {
    name: "this machine",
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(oneDnn !== undefined && { oneDnn }),
  };
}

/** Returns what tells the machine for a device, and asks for each once. */
export function rememberedMachines(): (device?: string) => Machine {
  const known = new Map<string, Machine>();
  return (device = "cpu") => {
    const machine = known.get(device) ?? thisMachine(device);
    known.set(device, machine);
    return machine;
  };
}
