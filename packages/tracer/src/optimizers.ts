import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";

/** The optimizers of tfjs-core with the defaults that tfjs-layers gives them. */
const optimizers = {
  sgd: () => tf.train.sgd(0.01),
  momentum: () => tf.train.momentum(0.01, 0.9),
  adam: () => tf.train.adam(),
  adamax: () => tf.train.adamax(),
  rmsprop: () => tf.train.rmsprop(0.001),
  adagrad: () => tf.train.adagrad(0.01),
  adadelta: () => tf.train.adadelta(),
} satisfies Record<string, () => tf.Optimizer>;

export type OptimizerName = keyof typeof optimizers;
export const optimizerNames: readonly OptimizerName[] = Object.keys(optimizers) as OptimizerName[];

/**
 * A new optimizer of that name.
 * @throws RematError `OPTIMIZER_UNKNOWN`
 */
export function optimizerByName(name: string): tf.Optimizer {
  if (!Object.hasOwn(optimizers, name))
    throw new RematError(
      "OPTIMIZER_UNKNOWN",
      `no optimizer is called ${JSON.stringify(name)}. Expected one of ${optimizerNames.join(", ")}.`,
    );
  return optimizers[name as OptimizerName]();
}
