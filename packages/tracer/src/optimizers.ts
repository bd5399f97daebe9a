import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";

/** The optimizers of tfjs-core with the defaults that tfjs-layers gives them. */
export type OptimizerName = "sgd" | "momentum" | "adam" | "adamax" | "rmsprop" | "adagrad" | "adadelta";

const optimizers: Readonly<Record<OptimizerName, () => tf.Optimizer>> = {
  sgd: () => tf.train.sgd(0.01),
  momentum: () => tf.train.momentum(0.01, 0.9),
  adam: () => tf.train.adam(),
  adamax: () => tf.train.adamax(),
  rmsprop: () => tf.train.rmsprop(0.001),
  adagrad: () => tf.train.adagrad(0.01),
  adadelta: () => tf.train.adadelta(),
};

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
