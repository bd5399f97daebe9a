import * as tfc from "@tensorflow/tfjs-core";
import type { JsonObject } from "../json.js";
import { abs } from "../operations/kinks.js";

/** Computes one number for each sample or place, before the reduction to a scalar. */
export type SampleLoss = (target: tfc.Tensor, output: tfc.Tensor, options: JsonObject) => tfc.Tensor;

/** Keras keeps probabilities this far from 0 and 1. */
const epsilon = 1e-7;

const number = (value: unknown, otherwise: number): number => (typeof value === "number" ? value : otherwise);
const meanOfLast = (x: tfc.Tensor): tfc.Tensor => tfc.mean(x, -1);
const probability = (x: tfc.Tensor): tfc.Tensor => tfc.clipByValue(x, epsilon, 1 - epsilon);
const ofLengthOne = (x: tfc.Tensor): tfc.Tensor =>
  tfc.mul(x, tfc.rsqrt(tfc.maximum(tfc.sum(tfc.square(x), -1, true), 1e-12)));

/** Logarithm of the probability of each class, from logits or from probabilities, which need not sum to 1. */
function logProbabilities(output: tfc.Tensor, fromLogits: unknown): tfc.Tensor {
  if (fromLogits === true) return tfc.logSoftmax(output);
  return tfc.log(probability(tfc.div(output, tfc.sum(output, -1, true))));
}

function smoothed(target: tfc.Tensor, smoothing: unknown, classes: number): tfc.Tensor {
  const by = number(smoothing, 0);
  return by === 0 ? target : tfc.add(tfc.mul(target, 1 - by), by / classes);
}

/** One-hot encoding of class indices with shape `[…, 1]` or `[…]`. */
function oneHotOf(target: tfc.Tensor, output: tfc.Tensor): tfc.Tensor {
  const places = output.shape.slice(0, -1);
  const classes = output.shape.at(-1) as number;
  return tfc.cast(tfc.oneHot(tfc.cast(tfc.reshape(target, places), "int32"), classes), "float32");
}

const crossEntropy = (target: tfc.Tensor, output: tfc.Tensor, fromLogits: unknown): tfc.Tensor =>
  tfc.neg(tfc.sum(tfc.mul(target, logProbabilities(output, fromLogits)), -1));

/** Avoids overflow in the exponential of a logit. */
function binaryCrossEntropy(target: tfc.Tensor, output: tfc.Tensor, fromLogits: unknown): tfc.Tensor {
  if (fromLogits === true)
    return tfc.add(tfc.sub(tfc.relu(output), tfc.mul(output, target)), tfc.log1p(tfc.exp(tfc.neg(tfc.abs(output)))));
  const p = probability(output);
  const one = tfc.mul(target, tfc.log(tfc.add(p, epsilon)));
  return tfc.neg(tfc.add(one, tfc.mul(tfc.sub(1, target), tfc.log(tfc.add(tfc.sub(1, p), epsilon)))));
}

/** Keras' losses by function name. The options are the arguments of their classes. */
export const losses: Readonly<Record<string, SampleLoss>> = {
  mean_squared_error: (target, output) => meanOfLast(tfc.square(tfc.sub(output, target))),
  mean_absolute_error: (target, output) => meanOfLast(abs(tfc.sub(output, target))),
  mean_absolute_percentage_error: (target, output) =>
    tfc.mul(100, meanOfLast(abs(tfc.div(tfc.sub(target, output), tfc.maximum(tfc.abs(target), epsilon))))),
  mean_squared_logarithmic_error: (target, output) => {
    const log = (x: tfc.Tensor): tfc.Tensor => tfc.log(tfc.add(tfc.maximum(x, epsilon), 1));
    return meanOfLast(tfc.square(tfc.sub(log(output), log(target))));
  },
  binary_crossentropy: (target, output, { from_logits, label_smoothing }) =>
    meanOfLast(binaryCrossEntropy(smoothed(target, label_smoothing, 2), output, from_logits)),
  categorical_crossentropy: (target, output, { from_logits, label_smoothing }) =>
    crossEntropy(smoothed(target, label_smoothing, output.shape.at(-1) as number), output, from_logits),
  sparse_categorical_crossentropy: (target, output, { from_logits }) =>
    crossEntropy(oneHotOf(target, output), output, from_logits),
  huber: (target, output, { delta }) => {
    const by = number(delta, 1);
    const error = tfc.abs(tfc.sub(output, target));
    const near = tfc.minimum(error, by);
    return meanOfLast(tfc.add(tfc.mul(0.5, tfc.square(near)), tfc.mul(by, tfc.sub(error, near))));
  },
  log_cosh: (target, output) => {
    const error = tfc.sub(output, target);
    return meanOfLast(tfc.sub(tfc.add(error, tfc.softplus(tfc.mul(-2, error))), Math.LN2));
  },
  kl_divergence: (target, output) => {
    const [t, o] = [tfc.clipByValue(target, epsilon, 1), tfc.clipByValue(output, epsilon, 1)];
    return tfc.sum(tfc.mul(t, tfc.log(tfc.div(t, o))), -1);
  },
  poisson: (target, output) => meanOfLast(tfc.sub(output, tfc.mul(target, tfc.log(tfc.add(output, epsilon))))),
  cosine_similarity: (target, output) => tfc.neg(tfc.sum(tfc.mul(ofLengthOne(target), ofLengthOne(output)), -1)),
};

/** Other names of these losses in Keras. */
const synonyms: Readonly<Record<string, string>> = {
  mse: "mean_squared_error",
  mae: "mean_absolute_error",
  mape: "mean_absolute_percentage_error",
  msle: "mean_squared_logarithmic_error",
  logcosh: "log_cosh",
  huber_loss: "huber",
  kld: "kl_divergence",
  kullback_leibler_divergence: "kl_divergence",
  bce: "binary_crossentropy",
};

/** Returns the function name of a loss, from a name that Keras writes, such as `MeanSquaredError` or `mse`. */
export function lossNamed(written: string): string {
  const name = written
    .replace(/^.*>/, "")
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/^KLD/, "kl_d")
    .toLowerCase();
  return Object.hasOwn(synonyms, name) ? (synonyms[name] as string) : name;
}
