import type { Trace, TraceHeader } from "@remat/trace";

/** Returns `bytes` rounded up to a multiple of `unitBytes`. */
export function roundUpBytes(bytes: number, unitBytes: number): number {
  return unitBytes <= 1 ? bytes : Math.ceil(bytes / unitBytes) * unitBytes;
}

/**
 * Returns the allocation unit of `device` in bytes. Sizes on the device are rounded up to a multiple of this. Devices
 * of the trace's own kind have the unit in the header, and other devices have 1, because PyTorch's caching allocator
 * rounds on CUDA but not on the CPU.
 */
export function unitBytesOn(device: string, header: Pick<TraceHeader, "device" | "allocationUnitBytes">): number {
  return deviceKind(device) === deviceKind(header.device) ? header.allocationUnitBytes : 1;
}

/**
 * Returns the allocation unit in bytes for each of the trace's strings that names a device, by the id of the string.
 */
export function unitBytesByName(trace: Trace): Float64Array {
  return Float64Array.from(trace.strings, (name) => unitBytesOn(name, trace.header));
}

/** Returns the size of each storage in bytes as its device allocates it. Resizes are ignored. */
export function allocatedSizes(trace: Trace): Float64Array {
  const units = unitBytesByName(trace);
  const { count, bytes, device } = trace.storages;
  const sizes = new Float64Array(count);
  for (let s = 0; s < count; s++) sizes[s] = roundUpBytes(bytes[s], units[device[s]]);
  return sizes;
}

/** Returns the kind of a device: `cuda` for `cuda:0`. */
export function deviceKind(device: string): string {
  const colon = device.indexOf(":");
  return colon < 0 ? device : device.slice(0, colon);
}
