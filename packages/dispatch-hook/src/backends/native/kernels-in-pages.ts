import type { Unknown } from "../backend.js";

/** Of TensorFlow, which no page runs: what its kernels hold is code that a page need not load. */
const unknownInPages: Unknown = { unknown: "what its kernels hold is told in Node, not in a page" };

// Under the name by which `kernel-tables.ts` imports it.
export { unknownInPages as tensorflowKernels };
