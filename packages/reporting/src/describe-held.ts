import type { HeldStorage } from "@remat/memory";

/**
 * Returns the dtype and shape of a storage's tensor, such as `float32 [32, 10]`. For scratch memory it returns the
 * number of pieces, and for anything else an empty text.
 */
export function describeShape({
  dtype = "",
  shape,
  scratchPieces = 1,
}: Pick<HeldStorage, "dtype" | "shape" | "scratchPieces">): string {
  if (scratchPieces > 1) return `${scratchPieces} pieces`;
  return shape === undefined ? "" : `${dtype} [${shape.join(", ")}]`;
}

/** Returns the kernel that allocated a storage, or that uses it as scratch memory, or undefined if no kernel did. */
export function describeMaker({
  maker,
  scratchPieces,
}: Pick<HeldStorage, "maker" | "scratchPieces">): string | undefined {
  return maker && `${maker.opName}${scratchPieces === undefined ? "" : " (scratch)"}`;
}
