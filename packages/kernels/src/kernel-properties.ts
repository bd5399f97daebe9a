import { Multinomial } from "@tensorflow/tfjs-core";
import { elementwiseKernels } from "./elementwise.js";

/** Kernels that draw from a generator of the backend. What tfjs draws in JavaScript (`randomUniform`, dropout) is data, not an op. */
export const randomKernels: ReadonlySet<string> = new Set([Multinomial]);

const elementwise: ReadonlySet<string> = new Set(Object.keys(elementwiseKernels));

/** Tells whether a kernel computes element by element, so that its only output has as many as its operands broadcast to. */
export const isElementwise = (kernel: string): boolean => elementwise.has(kernel);
