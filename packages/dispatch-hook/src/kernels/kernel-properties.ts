import { FromPixels, Multinomial } from "@tensorflow/tfjs-core";
import { elementwiseKernels } from "./elementwise.js";

/** Kernels that draw from a generator of the backend. What tfjs draws in JavaScript (`randomUniform`, dropout) is data, not an op. */
export const randomKernels: ReadonlySet<string> = new Set([Multinomial]);

/** Kernels that are given what is no tensor, such as the picture of a camera: another one by the time they would run again. */
export const pictureKernels: ReadonlySet<string> = new Set([FromPixels]);

const elementwise: ReadonlySet<string> = new Set(Object.keys(elementwiseKernels));

/** Tells whether a kernel computes element by element, so that its only output has as many as its operands broadcast to. */
export const isElementwise = (kernel: string): boolean => elementwise.has(kernel);
