import type { Trace, TraceHeader } from "@remat/trace";

/** Returns `bytes` rounded up to a multiple of `unitBytes`. */
export function roundUpBytes(bytes: number, unitBytes: number): number {
  return unitBytes <= 1 ? bytes : Math.ceil(bytes / unitBytes) * unitBytes;
}

/**
 * Returns what allocations on `device` are rounded up to, in bytes: the header's unit on every device of the kind that the trace is about, 1 on
 * others, as PyTorch's caching allocator rounds on CUDA but not on the CPU.
 */
export function unitBytesOn(device: string, header: Pick<TraceHeader, "device" | "allocationUnitBytes">): number {
  return deviceKind(device) === deviceKind(header.device) ? header.allocationUnitBytes : 1;
}

/** Returns the unit of each of the trace's strings that is a device, by its id, in bytes. */
export function unitBytesByName(trace: Trace): Float64Array {
  return Float64Array.from(trace.strings, (name) => unitBytesOn(name, trace.header));
}

/** Returns the size of each storage as its device allocates it, in bytes. A resize is not looked at. */
export function allocatedSizes(trace: Trace): Float64Array {
  const units = unitBytesByName(trace);
  const { count, bytes, device } = trace.storages;
  const sizes = new Float64Array(count);
  for (let s = 0; s < count; s++) sizes[s] = roundUpBytes(bytes[s], units[device[s]]);
  return sizes;
}

/** Returns the kind of a device: `cuda` of `cuda:0`. */
export function deviceKind(device: string): string {
  const colon = device.indexOf(":");
  return colon < 0 ? device : device.slice(0, colon);
}
