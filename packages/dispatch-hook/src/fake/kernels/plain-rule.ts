import { allKernels } from "./all-kernels.js";
import type { Infer } from "./infer.js";

/** The rule for a kernel that says only what it returns. */
export const plainRule = (kernel: string): Infer<object, object> => allKernels.get(kernel) as Infer<object, object>;
