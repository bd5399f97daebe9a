/** Returns a saved value if it is a share from 0 to 1, or else `otherwise`. */
export function readShare(saved: unknown, otherwise: number): number {
  return typeof saved === "number" && saved >= 0 && saved <= 1 ? saved : otherwise;
}
