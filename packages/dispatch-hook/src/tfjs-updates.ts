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

/** As they are when this is loaded: a method that somebody puts in the place of one is theirs. */
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
 * Tells whether a method is the update of one of tfjs's own optimizers. Of these it is known that what they do follows from the gradients that are
 * there, the slots that are there, and the optimizer's switches; that no tensor that they make leaves them but as a variable's data; and that their
 * state is in fields and in lists of variables, so that a copy can take a step that the optimizer does not feel.
 *
 * @internal
 */
export const isTfjsUpdate = (method: ApplyGradients): boolean => methods.has(method);

/** Tells whether a method is tfjs's own `minimize`, which disposes of the gradients once it has applied them. @internal */
export const isTfjsMinimize = (method: unknown): boolean => method === baseMinimize;
