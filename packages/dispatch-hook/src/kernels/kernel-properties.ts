import { FromPixels, Multinomial } from "@tensorflow/tfjs-core";
import { elementwiseKernels } from "./elementwise.js";

/**
 * Kernels that draw from a generator of the backend. Numbers that TensorFlow.js draws in JavaScript (`randomUniform`,
 * dropout) are data, not an op.
 */
export const randomKernels: ReadonlySet<string> = new Set([Multinomial]);

/** Kernels with an input that is not a tensor, such as a camera picture, which may have changed before a replay. */
export const pictureKernels: ReadonlySet<string> = new Set([FromPixels]);

const elementwise: ReadonlySet<string> = new Set(Object.keys(elementwiseKernels));

/** Returns whether a kernel is elementwise, so that its only output has the broadcast shape of its operands. */
export const isElementwise = (kernel: string): boolean => elementwise.has(kernel);
