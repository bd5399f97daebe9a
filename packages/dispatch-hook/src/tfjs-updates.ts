import {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  MomentumOptimizer,
  Optimizer,
  RMSPropOptimizer,
  SGDOptimizer,
} from "@tensorflow/tfjs-core";
import type { ApplyGradients } from "./engine-records.js";

/** The methods when this module is loaded. Methods that replace them later belong to the program. */
const methods: ReadonlySet<unknown> = new Set(
  [
    SGDOptimizer,
    MomentumOptimizer,
    AdagradOptimizer,
    AdadeltaOptimizer,
    AdamOptimizer,
    AdamaxOptimizer,
    RMSPropOptimizer,
  ].map(({ prototype }) => prototype.applyGradients),
);
const baseMinimize: unknown = (Optimizer.prototype as Partial<Optimizer>).minimize;

/**
 * Returns whether a method is the update of an optimizer of TensorFlow.js. Such updates have known properties. Their
 * actions follow from the existing gradients and slots and from the optimizer's switches. The only tensors that outlive
 * them are data of variables. Their state is in fields and in lists of variables, so a copy can take a step without
 * affecting the optimizer.
 *
 * @internal
 */
export const isTfjsUpdate = (method: ApplyGradients): boolean => methods.has(method);

/**
 * Returns whether a method is `minimize` of TensorFlow.js, which disposes of the gradients after applying them.
 * @internal
 */
export const isTfjsMinimize = (method: unknown): boolean => method === baseMinimize;
