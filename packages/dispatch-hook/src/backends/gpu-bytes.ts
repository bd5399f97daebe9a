import { elementsOf } from "@remat/trace";
import { type DataEntry, requestedBytes } from "./data-entry.js";

/** Of every number in a texture or in a buffer of WebGPU: bools and integers, too, are 32 bits there. */
const bytesOnGpu = 4;

/** Returns the bytes of data on a GPU that a browser gives: elements times four. Without the padding of textures, which is known when a kernel has made them. @internal */
export function gpuBytes(entry: DataEntry): number {
  if (entry.shape === undefined || entry.dtype === "string" || entry.bytes !== undefined) return requestedBytes(entry);
  return bytesOnGpu * elementsOf(entry.shape);
}
