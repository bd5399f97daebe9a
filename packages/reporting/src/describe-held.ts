import type { HeldStorage } from "@remat/memory";

/** Returns what a storage is a tensor of, such as `float32 [32, 10]`; of scratch in how many pieces it is; else nothing. */
export function describeShape({
  dtype = "",
  shape,
  scratchPieces = 1,
}: Pick<HeldStorage, "dtype" | "shape" | "scratchPieces">): string {
  if (scratchPieces > 1) return `${scratchPieces} pieces`;
  return shape === undefined ? "" : `${dtype} [${shape.join(", ")}]`;
}

/** Returns which kernel made a storage, or as the scratch of which it is there; undefined where none did. */
export function describeMaker({
  maker,
  scratchPieces,
}: Pick<HeldStorage, "maker" | "scratchPieces">): string | undefined {
  return maker && `${maker.opName}${scratchPieces === undefined ? "" : " (scratch)"}`;
}
