import type { Unknown } from "../backend.js";

/** No page runs TensorFlow, so pages need not load the code with the memory of its kernels. */
const unknownInPages: Unknown = { unknown: "its kernels' memory is known only in Node" };

// `kernel-tables.ts` imports this name.
export { unknownInPages as tensorflowKernels };
