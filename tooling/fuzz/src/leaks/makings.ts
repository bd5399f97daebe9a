/** A way to make tensors, in one line. */
export interface Making {
  /** JavaScript with `x`, a matrix of 8 by 16, and `i`, the number of the run. */
  readonly text: string;
  /** How many of its tensors outlive it. */
  readonly count: number;
  /** How many of them are variables, which the engine references. */
  readonly variables: number;
  /** True if `text` is a tensor, whose values can be read, otherwise something that `tf.dispose` accepts. */
  readonly isTensor: boolean;
  /** The function of the program that makes them, if any. The report then names its line. */
  readonly maker?: Maker;
}

/** Functions that every program has. */
export type Maker = keyof typeof makers;

/** For each name: the lines before the one that makes a tensor, that line itself, and the lines after it. */
export const makers = {
  twice: ["const twice = (z) => {", "return tf.tidy(() => z.add(z));", "};"],
  Model: ["class Model { call(z) {", "return tf.tidy(() => z.tanh().sub(1));", "} }"],
} as const;

const one = (text: string): Making => ({ text, count: 1, variables: 0, isTensor: true });
const several = (text: string, count: number): Making => ({ text, count, variables: 0, isTensor: false });
const variable = (text: string): Making => ({ ...one(text), variables: 1 });

/** All ways in which programs make tensors. */
export const makings: readonly Making[] = [
  one("tf.ones([4])"),
  one("tf.scalar(i)"),
  one("tf.tensor1d([i, 2, 3])"),
  one("tf.tensor2d([[i, 2], [3, 4]])"),
  one('tf.tensor1d(["a", "b"])'),
  one("tf.randomNormal([8, 4])"),
  one("tf.buffer([4, 4]).toTensor()"),
  one("x.add(1)"),
  one("x.mul(2)"),
  one("tf.matMul(x, x, false, true)"),
  one("x.reshape([16, 8])"),
  one("x.clone()"),
  one("x.slice([0, 0], [(i % 7) + 1, 4])"),
  one('x.cast("int32")'),
  one("tf.complex(x, x)"),
  one("x.sum()"),
  one("tf.tidy(() => x.mul(2).add(1))"),
  one("tf.tidy(() => tf.tidy(() => x.square()).sqrt())"),
  one("tf.tidy(() => tf.keep(x.relu()))"),
  one("tf.tidy(() => tf.concat([x, x.neg()]))"),
  one("tf.grad((z) => z.square().sum())(x)"),
  { ...one("twice(x)"), maker: "twice" },
  { ...one("new Model().call(x)"), maker: "Model" },
  several("tf.split(x, 2)", 2),
  several("tf.unstack(x)", 8),
  several("tf.topk(x, 3)", 2),
  several("tf.moments(x)", 2),
  several("tf.valueAndGrad((z) => z.square().sum())(x)", 2),
  several("tf.tidy(() => ({ a: x.exp(), b: [x.max()] }))", 2),
  variable("tf.tidy(() => tf.variable(x.mul(0.5)))"),
  variable("tf.variable(x)"),
  {
    text: "tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] })",
    count: 2,
    variables: 2,
    isTensor: false,
  },
];
