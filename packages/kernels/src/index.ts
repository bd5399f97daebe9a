export type { FusedAttributes, FusedInputs } from "./activation.js";
export { allKernels } from "./all-kernels.js";
export type { KernelAttributes, KernelInputs, KernelOutput } from "./arguments.js";
export type { AB, Infer, InferTable, X } from "./infer.js";
export type { KernelCall } from "./kernel-call.js";
export { randomKernels } from "./kernel-properties.js";
export { plainRule } from "./plain-rule.js";
export { reduced } from "./reductions.js";
export { broadcast, fitting, mismatch, refuseComplex, sizeOf, sumDtype } from "./shapes.js";
