/** Copies of one node that a sequence may hold; a power of two. An instance is `(node << copyBits) + slot`. @internal */
export const copyBits = 4;
/** @internal */
export const maxCopies: number = 1 << copyBits;
/** @internal */
export const slotMask: number = maxCopies - 1;
