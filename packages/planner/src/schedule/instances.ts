/** Number of bits for the copies of one node in a sequence. An instance is `(node << copyBits) + slot`. @internal */
export const copyBits = 4;
/** Largest number of copies of one node in a sequence. @internal */
export const maxCopies: number = 1 << copyBits;
/** Mask for the slot of an instance. @internal */
export const slotMask: number = maxCopies - 1;
