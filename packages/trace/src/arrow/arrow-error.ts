/** A fault of an Arrow file. The message completes a sentence about the file or one of its columns. */
export class ArrowError extends Error {}
