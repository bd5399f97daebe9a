import { allKernels } from "./all-kernels.js";
import type { Infer } from "./infer.js";

/** What a kernel returns, as if it made nothing besides. */
export const plainRule = (kernel: string): Infer<object, object> => allKernels.get(kernel) as Infer<object, object>;
