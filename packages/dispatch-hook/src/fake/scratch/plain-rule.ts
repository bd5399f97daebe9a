import { allKernels } from "../kernels/all-kernels.js";
import type { Infer } from "../kernels/infer.js";

/** What a kernel returns, as if it made nothing besides. */
export const plainRule = (kernel: string): Infer<object, object> => allKernels.get(kernel) as Infer<object, object>;
