import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";

/** Optimizers of tfjs-core, with the defaults of tfjs-layers. */
export type OptimizerName = "sgd" | "momentum" | "adam" | "adamax" | "rmsprop" | "adagrad" | "adadelta";

interface NamedOptimizer {
  readonly make: () => tf.Optimizer;
  /** True if its first step creates state. */
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

/** Names of all optimizers. */
export const optimizerNames: readonly OptimizerName[] = Object.keys(optimizers) as OptimizerName[];

/** The name for a step without a weight update. */
export const noOptimizer = "none";

/**
 * Makes a new optimizer.
 *
 * @throws RematError `OPTIMIZER_UNKNOWN`
 */
export function optimizerByName(name: string): tf.Optimizer {
  return namedOptimizer(name).make();
}

/**
 * Returns whether the optimizer creates state in its first step.
 *
 * @throws RematError `OPTIMIZER_UNKNOWN`
 */
export function keepsState(name: string): boolean {
  return name !== noOptimizer && namedOptimizer(name).keepsState;
}

/**
 * Checks the name of an optimizer.
 *
 * @throws RematError `OPTIMIZER_UNKNOWN` if it is neither an optimizer nor `none`
 */
export function requireOptimizer(name: string): void {
  if (name !== noOptimizer) namedOptimizer(name);
}

function namedOptimizer(name: string): NamedOptimizer {
  if (Object.hasOwn(optimizers, name)) return optimizers[name as OptimizerName];
  throw new RematError(
    "OPTIMIZER_UNKNOWN",
    `unknown optimizer ${JSON.stringify(name)}. Choose one of ${optimizerNames.join(", ")}, or ${noOptimizer} for gradients only.`,
  );
}
