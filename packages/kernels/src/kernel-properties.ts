import { Multinomial } from "@tensorflow/tfjs-core";

/** Kernels that draw from a generator of the backend. What tfjs draws in JavaScript (`randomUniform`, dropout) is data, not an op. */
export const randomKernels: ReadonlySet<string> = new Set([Multinomial]);
