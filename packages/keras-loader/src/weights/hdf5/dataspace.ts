import type { FileBytes } from "./file-bytes.js";

const mostDimensions = 32;

/** Reads the shape of an array or an attribute. */
export function readDataspace(file: FileBytes, at: number): number[] {
  const version = file.u8(at);
  if (version !== 1 && version !== 2) throw new Error(`shapes of version ${version} are not supported`);
  const count = file.u8(at + 1);
  if (count > mostDimensions) throw new Error(`shapes of ${count} dimensions are not supported`);
  // A null dataspace has no elements.
  if (version === 2 && file.u8(at + 3) === 2) return [0];
  const start = at + (version === 1 ? 8 : 4);
  return Array.from({ length: count }, (_, i) => file.u64(start + 8 * i));
}
