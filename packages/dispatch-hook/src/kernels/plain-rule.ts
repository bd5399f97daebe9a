import { allKernels } from "./all-kernels.js";
import type { Infer } from "./infer.js";

/** Returns the rule for a kernel's outputs, without temporaries. */
export const plainRule = (kernel: string): Infer<object, object> => allKernels.get(kernel) as Infer<object, object>;
