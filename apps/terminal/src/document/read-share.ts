/** Returns a saved share of something, where it is one. */
export function readShare(saved: unknown, otherwise: number): number {
  return typeof saved === "number" && saved >= 0 && saved <= 1 ? saved : otherwise;
}
