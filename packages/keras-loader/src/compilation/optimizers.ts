import { type Optimizer, train } from "@tensorflow/tfjs-core";
import { isObject, type JsonObject, ownField, show } from "../json.js";

/** An optimizer of TensorFlow.js that replaces one of Keras, with sentences about the differences. */
export interface FoundOptimizer {
  readonly optimizer: Optimizer;
  readonly notes: readonly string[];
}

const number = (value: unknown, otherwise: number): number => (typeof value === "number" ? value : otherwise);
const adam = (rate: number, { beta_1, beta_2, epsilon }: JsonObject): Optimizer =>
  train.adam(rate, number(beta_1, 0.9), number(beta_2, 0.999), number(epsilon, 1e-7));

interface KnownOptimizer {
  readonly defaultRate: number;
  readonly make: (rate: number, config: JsonObject) => Optimizer;
  /** Name of the TensorFlow.js optimizer with the most similar state, if there is no exact one. */
  readonly standIn?: string;
  /** How its update differs from Keras. */
  readonly difference?: string;
}

/** Keras' optimizers and their counterparts in TensorFlow.js. */
const optimizers: Readonly<Record<string, KnownOptimizer>> = {
  sgd: {
    defaultRate: 0.01,
    make: (rate, { momentum, nesterov }) =>
      number(momentum, 0) === 0 ? train.sgd(rate) : train.momentum(rate, number(momentum, 0), nesterov === true),
  },
  momentum: { defaultRate: 0.01, make: (rate, { momentum }) => train.momentum(rate, number(momentum, 0.9)) },
  rmsprop: {
    defaultRate: 0.001,
    make: (rate, { rho, decay, momentum, epsilon, centered }) =>
      train.rmsprop(rate, number(rho ?? decay, 0.9), number(momentum, 0), number(epsilon, 1e-7), centered === true),
  },
  adam: { defaultRate: 0.001, make: adam },
  adamw: { defaultRate: 0.001, make: adam, standIn: "Adam" },
  nadam: { defaultRate: 0.001, make: adam, standIn: "Adam" },
  lion: {
    defaultRate: 0.001,
    make: (rate, { beta_1 }) => train.momentum(rate, number(beta_1, 0.9)),
    standIn: "momentum",
  },
  adamax: {
    defaultRate: 0.001,
    make: (rate, { beta_1, beta_2, epsilon }) =>
      train.adamax(rate, number(beta_1, 0.9), number(beta_2, 0.999), number(epsilon, 1e-7)),
  },
  adagrad: {
    defaultRate: 0.001,
    make: (rate, { initial_accumulator_value }) => train.adagrad(rate, number(initial_accumulator_value, 0.1)),
  },
  adadelta: {
    defaultRate: 0.001,
    make: (rate, { rho, epsilon }) => train.adadelta(rate, number(rho, 0.95), number(epsilon, 1e-7)),
    difference: "tfjs's Adadelta scales each gradient by earlier gradients only",
  },
};

/** Options that change an update and that TensorFlow.js lacks. */
const lacking = ["amsgrad", "clipnorm", "clipvalue", "global_clipnorm", "use_ema", "weight_decay"];

/** Returns the TensorFlow.js optimizer for a Keras configuration. Undefined if not found. */
export function optimizerOf(written: unknown): FoundOptimizer | undefined {
  const inner = isObject(written) && isObject(written["config"]) ? written["config"] : {};
  const className = String(isObject(written) ? written["class_name"] : written).replace(/^.*>/, "");
  // It scales the loss for half precision, which TensorFlow.js does not support.
  if (className === "LossScaleOptimizer") return optimizerOf(inner["inner_optimizer"]);
  const known = ownField(optimizers, className.toLowerCase());
  if (known === undefined) return undefined;
  const [rate, ofRate] = rateOf(inner["learning_rate"], known.defaultRate);
  const ignored = lacking.filter((field) => inner[field] != null && inner[field] !== false && inner[field] !== 0);
  return {
    optimizer: known.make(rate, inner),
    notes: [
      ...(known.standIn === undefined
        ? []
        : [`tfjs has no ${className}: ${known.standIn} replaces it, with optimizer state of the same size`]),
      ...(known.difference === undefined ? [] : [known.difference]),
      ...ofRate,
      ...ignored.map((field) => `tfjs's ${className} has no ${field}: ${show(inner[field])} is ignored`),
    ],
  };
}

function rateOf(written: unknown, otherwise: number): readonly [number, readonly string[]] {
  if (typeof written === "number") return [written, []];
  if (!isObject(written) || !isObject(written["config"])) return [otherwise, []];
  const { initial_learning_rate, values } = written["config"];
  const first = number(initial_learning_rate ?? (Array.isArray(values) ? values[0] : undefined), otherwise);
  return [first, [`the learning rate stays ${first}, the first value of ${String(written["class_name"])}`]];
}
