import { elementsOf } from "@remat/trace";
import { type DataEntry, requestedBytes } from "./data-entry.js";

/** Bytes per number in a texture or a WebGPU buffer. Booleans and integers also take 32 bits there. */
const bytesOnGpu = 4;

/**
 * Returns the bytes of data on a GPU in a browser: elements times four. The padding of textures is not included, since
 * it is known only after a kernel has made the texture. @internal
 */
export function gpuBytes(entry: DataEntry): number {
  if (entry.shape === undefined || entry.dtype === "string" || entry.bytes !== undefined) return requestedBytes(entry);
  return bytesOnGpu * elementsOf(entry.shape);
}
