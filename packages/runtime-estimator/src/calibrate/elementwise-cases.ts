import * as tf from "@tensorflow/tfjs-core";
import type { CalibrationCase } from "./calibration-case.js";

/** Elements, from a call that only costs its launch to tensors of 16 MB, beyond any cache. */
const sizes = [16, 1024, 16_384, 131_072, 786_432, 4_194_304];

const unary: Readonly<Record<string, (x: tf.Tensor) => unknown>> = {
  ...{ neg: tf.neg, exp: tf.exp, log: tf.log, sqrt: tf.sqrt, rsqrt: tf.rsqrt, square: tf.square, relu: tf.relu },
  ...{ relu6: tf.relu6, sigmoid: tf.sigmoid, tanh: tf.tanh, abs: tf.abs, step: tf.step, erf: tf.erf, elu: tf.elu },
  ...{ softplus: tf.softplus, zerosLike: tf.zerosLike, onesLike: tf.onesLike },
  clip: (x) => tf.clipByValue(x, 0.2, 0.8),
  leakyRelu: (x) => tf.leakyRelu(x),
  toInt32: (x) => tf.cast(x, "int32"),
  toSame: (x) => tf.cast(x, "float32"),
  fill: (x) => tf.fill(x.shape, 1),
  compare: (x) => tf.greater(x, 0.5),
  fromBool: (x) => tf.cast(tf.greater(x, 0.5), "float32"),
  logicalNot: (x) => tf.logicalNot(tf.greater(x, 0.5)),
};

const binary: Readonly<Record<string, (x: tf.Tensor, y: tf.Tensor) => unknown>> = {
  ...{ add: tf.add, sub: tf.sub, mul: tf.mul, div: tf.div, maximum: tf.maximum, minimum: tf.minimum },
  ...{ squaredDifference: tf.squaredDifference, greater: tf.greater, greaterEqual: tf.greaterEqual },
  ...{ less: tf.less, lessEqual: tf.lessEqual, equal: tf.equal, pow: tf.pow },
};

/** Ops by which optimizers and losses work with a scalar. */
const withScalar = ["add", "sub", "mul", "div", "maximum", "greater", "greaterEqual", "less", "pow"];

const shapedLike = ["add", "sub", "mul", "div", "squaredDifference"];

const rows: readonly (readonly [number, number])[] = [
  [4, 8],
  [64, 32],
  [512, 64],
  [128, 512],
  [4096, 96],
  [12_544, 64],
  [65_536, 48],
];

/** Elementwise ops of each size, with scalars, and with rows and columns that are broadcast. */
export function elementwiseCases(): readonly CalibrationCase[] {
  return [...sizes.flatMap(casesOfSize), ...rows.flatMap(broadcastCases)];
}

function casesOfSize(size: number): readonly CalibrationCase[] {
  const named = (kind: string, run: CalibrationCase["run"]): CalibrationCase => ({
    kind,
    name: `${kind} ${size}`,
    run,
  });
  return [
    ...Object.entries(unary).map(([kind, op]) => named(kind, (input) => op(input(size)))),
    ...Object.entries(binary).map(([kind, op]) => named(kind, (input) => op(input(size), input(size)))),
    ...withScalar.map((kind) => named(`${kind} scalar`, (input) => binary[kind](input(size), tf.scalar(0.5)))),
    named("where", (input) => tf.where(tf.greater(input(size), 0.5), input(size), input(size))),
    named("logicalAnd", (input) => {
      const flags = tf.greater(input(size), 0.5);
      return tf.logicalAnd(flags, flags);
    }),
    named("addN", (input) => tf.addN([input(size), input(size), input(size)])),
  ];
}

function broadcastCases([count, width]: readonly [number, number]): readonly CalibrationCase[] {
  return shapedLike.flatMap((op) => [
    {
      kind: `${op} row`,
      name: `${op} [${count}, ${width}] and a row`,
      run: (input) => binary[op](input(count, width), input(width)),
    },
    {
      kind: `${op} column`,
      name: `${op} [${count}, ${width}] and a column`,
      run: (input) => binary[op](input(count, width), input(count, 1)),
    },
  ]);
}
