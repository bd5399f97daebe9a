import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";

/** The optimizers of tfjs-core with the defaults that tfjs-layers gives them. */
export type OptimizerName = "sgd" | "momentum" | "adam" | "adamax" | "rmsprop" | "adagrad" | "adadelta";

interface NamedOptimizer {
  readonly make: () => tf.Optimizer;
  /** Whether it makes state of its own in its first step. */
  readonly keepsState: boolean;
}

const optimizers: Readonly<Record<OptimizerName, NamedOptimizer>> = {
  sgd: { make: () => tf.train.sgd(0.01), keepsState: false },
  momentum: { make: () => tf.train.momentum(0.01, 0.9), keepsState: true },
  adam: { make: () => tf.train.adam(), keepsState: true },
  adamax: { make: () => tf.train.adamax(), keepsState: true },
  rmsprop: { make: () => tf.train.rmsprop(0.001), keepsState: true },
  adagrad: { make: () => tf.train.adagrad(0.01), keepsState: true },
  adadelta: { make: () => tf.train.adadelta(), keepsState: true },
};

export const optimizerNames: readonly OptimizerName[] = Object.keys(optimizers) as OptimizerName[];

/** The name that stands for no update of the weights. */
export const noOptimizer = "none";

/**
 * Makes a new optimizer of that name.
 * @throws RematError `OPTIMIZER_UNKNOWN`
 */
export function optimizerByName(name: string): tf.Optimizer {
  return namedOptimizer(name).make();
}

/** Tells whether the optimizer of that name makes state in its first step, which a later one finds. */
export function keepsState(name: string): boolean {
  return name !== noOptimizer && namedOptimizer(name).keepsState;
}

/**
 * Refuses what is no optimizer.
 *
 * @throws RematError `OPTIMIZER_UNKNOWN` for what is neither an optimizer nor `none`
 */
export function requireOptimizer(name: string): void {
  if (name !== noOptimizer) namedOptimizer(name);
}

function namedOptimizer(name: string): NamedOptimizer {
  if (Object.hasOwn(optimizers, name)) return optimizers[name as OptimizerName];
  throw new RematError(
    "OPTIMIZER_UNKNOWN",
    `no optimizer is called ${JSON.stringify(name)}. Expected one of ${optimizerNames.join(", ")}, or ${noOptimizer} for gradients only.`,
  );
}
