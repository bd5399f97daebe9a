import { machineMemoryBytes, usesOneDnn } from "@remat/dispatch-hook/backends";
import { deviceKind } from "@remat/memory";
import type { DeviceSpec } from "@remat/trace";
import { gpuMemoryBytes } from "../nvidia-smi.js";

/** The machine on which remat, or a program under it, runs steps. */
export type Machine = Pick<DeviceSpec, "name" | "memoryBytes" | "oneDnn">;

/**
 * Returns the machine for steps whose tensors are on a device, named as in a trace (`cpu` by default): the memory
 * available to a process there, and the library of its CPU. For a GPU, the memory is from NVIDIA's driver. It is
 * undefined if the driver reports no GPU, or GPUs that differ.
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

/** Returns a function that looks up the machine for a device, once for each device. */
export function rememberedMachines(): (device?: string) => Machine {
  const known = new Map<string, Machine>();
  return (device = "cpu") => {
    const machine = known.get(device) ?? thisMachine(device);
    known.set(device, machine);
    return machine;
  };
}
