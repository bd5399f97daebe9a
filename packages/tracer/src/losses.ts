import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";

/** Computes a scalar from a model's outputs and their targets. */
export type Loss = (outputs: readonly tf.Tensor[], targets: readonly tf.Tensor[]) => tf.Scalar;

/** A loss, whether it compares outputs with targets, and its description for messages. */
interface NamedLoss {
  readonly needsTargets: boolean;
  readonly description: string;
  readonly of: (output: tf.Tensor, target: tf.Tensor | undefined) => tf.Scalar;
}

/** Losses that can be requested by name. */
export type LossName = "sum" | "mean" | "meanSquaredError" | "categoricalCrossentropy" | "softmaxCrossEntropy";

const losses: Readonly<Record<LossName, NamedLoss>> = {
  sum: { needsTargets: false, description: "the sum of the outputs", of: (output) => tf.sum(output) },
  mean: { needsTargets: false, description: "the mean of the outputs", of: (output) => tf.mean(output) },
  meanSquaredError: {
    needsTargets: true,
    description: "mean squared error",
    of: (output, target) => tf.mean(tf.squaredDifference(output, target as tf.Tensor)),
  },
  categoricalCrossentropy: {
    needsTargets: true,
    description: "categorical cross-entropy of probabilities",
    // tfjs-layers computes it from probabilities the same way: normalize, clip away from 0 and 1, take the negative
    // log-likelihood.
    of: (output, target) => {
      const normalised = tf.div(output, tf.sum(output, -1, true));
      const clipped = tf.clipByValue(normalised, 1e-7, 1 - 1e-7);
      return tf.mean(tf.neg(tf.sum(tf.mul(tf.cast(target as tf.Tensor, "float32"), tf.log(clipped)), -1)));
    },
  },
  softmaxCrossEntropy: {
    needsTargets: true,
    description: "softmax cross-entropy of logits",
    of: (output, target) => tf.losses.softmaxCrossEntropy(target as tf.Tensor, output),
  },
};

/** Names of all losses. */
export const lossNames: readonly LossName[] = Object.keys(losses) as LossName[];

/**
 * Returns the description of a loss for messages.
 *
 * @throws RematError `LOSS_UNKNOWN`
 */
export function describeLoss(name: string): string {
  return namedLoss(name).description;
}

/**
 * Returns whether the loss needs targets of the outputs' shapes.
 *
 * @throws RematError `LOSS_UNKNOWN`
 */
export function lossNeedsTargets(name: string): boolean {
  return namedLoss(name).needsTargets;
}

/**
 * Returns the named loss, summed over all outputs.
 *
 * @throws RematError `LOSS_UNKNOWN`
 */
export function lossByName(name: string): Loss {
  const loss = namedLoss(name);
  return (outputs, targets) => {
    const terms = outputs.map((output, i) => loss.of(output, targets[i]));
    return terms.slice(1).reduce<tf.Scalar>((total, term) => tf.add(total, term), terms[0]);
  };
}

function namedLoss(name: string): NamedLoss {
  if (Object.hasOwn(losses, name)) return losses[name as LossName];
  throw new RematError("LOSS_UNKNOWN", `unknown loss ${JSON.stringify(name)}. Choose one of ${lossNames.join(", ")}.`);
}
