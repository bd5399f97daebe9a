import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { detached } from "./detached.js";
import * as kinks from "./kinks.js";
import { type Arguments, broadcastShapes, numberOf, type Operation, shapeOf, TensorShape } from "./operation.js";

type Value = tfc.Tensor | number;
type Unary = (x: tfc.Tensor, args: Arguments) => tfc.Tensor;
type Binary = (a: tfc.Tensor, b: tfc.Tensor) => tfc.Tensor;

const broadcastShape = (names: readonly string[]) => (args: Arguments) =>
  names.map((name) => shapeOf(args[name])).reduce(broadcastShapes);

/**
 * Converts an argument that may be a constant to a tensor. It gets the dtype of `like`, as Keras converts numbers next
 * to a tensor.
 */
export function tensorOf(value: unknown, like: tfc.Tensor | undefined): tfc.Tensor {
  if (value instanceof tfc.Tensor) return value;
  const dtype = like === undefined || like.dtype === "bool" ? "float32" : like.dtype;
  return typeof value === "number" || typeof value === "boolean"
    ? tfc.scalar(Number(value), dtype === "string" ? "float32" : dtype)
    : tfc.tensor(value as number[], undefined, dtype);
}

function operands(args: Arguments, names: readonly string[]): tfc.Tensor[] {
  const like = names.map((name) => args[name]).find((value) => value instanceof tfc.Tensor) as tfc.Tensor | undefined;
  return names.map((name) => tensorOf(args[name] as Value, like));
}

function unary(run: Unary, ...more: readonly string[]): Operation {
  return {
    parameters: ["x", ...more],
    run: (args) => run(args["x"] as tfc.Tensor, args),
    shape: (args) => args["x"] as Shape,
  };
}

function binary(run: Binary): Operation {
  const names = ["x1", "x2"];
  return {
    parameters: names,
    run: (args) => {
      const [a, b] = operands(args, names) as [tfc.Tensor, tfc.Tensor];
      return run(a, b);
    },
    shape: broadcastShape(names),
  };
}

const expanded = (x: tfc.Tensor, shape: Shape): tfc.Tensor =>
  tfc.util.arraysEqual(x.shape, shape as number[]) ? x : tfc.broadcastTo(x, shape as number[]);

/** Both operands in the shape of the result. */
function broadcasted(a: tfc.Tensor, b: tfc.Tensor): [tfc.Tensor, tfc.Tensor] {
  const shape = broadcastShapes(a.shape, b.shape);
  return [expanded(a, shape), expanded(b, shape)];
}

/** A binary operation whose gradient in TensorFlow.js does not reverse the broadcast of its operands. */
function broadcastFirst(run: Binary): Operation {
  const operation = binary(run);
  return {
    ...operation,
    run: (args) => {
      const tensors = Object.entries(args).filter(([, value]) => value instanceof tfc.Tensor);
      // A constant has no gradient, so it keeps its size.
      if (tensors.length < 2) return operation.run(args);
      const [x1, x2] = broadcasted(args["x1"] as tfc.Tensor, args["x2"] as tfc.Tensor);
      return operation.run({ x1, x2 });
    },
  };
}

/** Logical operators treat nonzero values as true. */
const logical = (run: Binary): Operation => binary((a, b) => run(tfc.cast(a, "bool"), tfc.cast(b, "bool")));

/** `where` of tfjs-core asks for a gradient of the condition, which a comparison does not have. */
function choose(condition: tfc.Tensor, a: tfc.Tensor, b: tfc.Tensor): tfc.Tensor {
  const run = tfc.customGrad((...args) => {
    const [x, y, save] = args as unknown as [tfc.Tensor, tfc.Tensor, tfc.GradSaveFunc];
    save([condition]);
    return {
      value: tfc.where(condition, x, y),
      gradFunc: (dy: tfc.Tensor, [chosen]: tfc.Tensor[]) => {
        const zeros = tfc.zerosLike(dy);
        return [tfc.where(chosen as tfc.Tensor, dy, zeros), tfc.where(chosen as tfc.Tensor, zeros, dy)];
      },
    };
  });
  return run(a, b);
}

/** `a / b`, and 0 if `b` is 0. */
function divideNoNan(a: tfc.Tensor, b: tfc.Tensor): tfc.Tensor {
  const [x, y] = broadcasted(a, b);
  const isZero = tfc.equal(y, 0);
  return choose(isZero, tfc.zerosLike(x), tfc.div(x, choose(isZero, tfc.onesLike(y), y)));
}

/** GELU: `x Φ(x)`, or its tanh approximation. */
function gelu(x: tfc.Tensor, isApproximate: boolean): tfc.Tensor {
  const half = tfc.mul(x, 0.5);
  if (!isApproximate) return tfc.mul(half, tfc.add(1, tfc.erf(tfc.mul(x, Math.SQRT1_2))));
  const inner = tfc.mul(Math.sqrt(2 / Math.PI), tfc.add(x, tfc.mul(0.044715, tfc.pow(x, tfc.scalar(3)))));
  return tfc.mul(half, tfc.add(1, tfc.tanh(inner)));
}

/** Keras' hard sigmoid: `relu6(x + 3) / 6`. */
const hardSigmoid = (x: tfc.Tensor): tfc.Tensor => tfc.div(kinks.relu6(tfc.add(x, 3)), 6);

/** Elementwise operations. */
export const elementwise: Readonly<Record<string, Operation>> = {
  add: binary(tfc.add),
  subtract: binary(tfc.sub),
  multiply: binary(tfc.mul),
  divide: binary(tfc.div),
  divideNoNan: binary(divideNoNan),
  floorDivide: binary(tfc.floorDiv),
  power: binary(tfc.pow),
  maximum: broadcastFirst(tfc.maximum),
  minimum: broadcastFirst(tfc.minimum),
  mod: binary(tfc.mod),
  squaredDifference: broadcastFirst(tfc.squaredDifference),
  arctan2: binary(tfc.atan2),
  equal: binary(tfc.equal),
  notEqual: binary(tfc.notEqual),
  greater: binary(tfc.greater),
  greaterEqual: binary(tfc.greaterEqual),
  less: binary(tfc.less),
  lessEqual: binary(tfc.lessEqual),
  logicalAnd: logical(tfc.logicalAnd),
  logicalOr: logical(tfc.logicalOr),
  logicalXor: logical(tfc.logicalXor),
  logicalNot: unary((x) => tfc.logicalNot(tfc.cast(x, "bool"))),
  negative: unary(tfc.neg),
  absolute: unary(kinks.abs),
  square: unary(tfc.square),
  sqrt: unary(tfc.sqrt),
  rsqrt: unary(tfc.rsqrt),
  exp: unary(tfc.exp),
  expm1: unary(tfc.expm1),
  log: unary(tfc.log),
  log1p: unary(tfc.log1p),
  sin: unary(tfc.sin),
  cos: unary(tfc.cos),
  tan: unary(tfc.tan),
  arcsin: unary(tfc.asin),
  arccos: unary(tfc.acos),
  arctan: unary(tfc.atan),
  sinh: unary(tfc.sinh),
  cosh: unary(tfc.cosh),
  tanh: unary(tfc.tanh),
  sign: unary(tfc.sign),
  onesLike: unary((x, { dtype }) => tfc.cast(tfc.onesLike(x), dtype == null ? x.dtype : dtypeOf(dtype)), "dtype"),
  zerosLike: unary((x, { dtype }) => tfc.cast(tfc.zerosLike(x), dtype == null ? x.dtype : dtypeOf(dtype)), "dtype"),
  floor: unary(tfc.floor),
  ceil: unary(tfc.ceil),
  round: unary(tfc.round),
  reciprocal: unary(tfc.reciprocal),
  erf: unary(tfc.erf),
  relu: unary(tfc.relu),
  relu6: unary(kinks.relu6),
  sigmoid: unary(tfc.sigmoid),
  logSigmoid: unary(tfc.logSigmoid),
  softplus: unary(tfc.softplus),
  softsign: unary((x) => tfc.div(x, tfc.add(tfc.abs(x), 1))),
  elu: unary(tfc.elu),
  selu: unary(kinks.selu),
  silu: unary((x) => tfc.mul(x, tfc.sigmoid(x))),
  gelu: unary((x, { approximate }) => gelu(x, approximate !== false), "approximate"),
  exactGelu: unary((x, { approximate }) => gelu(x, approximate === true), "approximate"),
  hardSigmoid: unary(hardSigmoid),
  hardSilu: unary((x) => tfc.mul(x, hardSigmoid(x))),
  leakyRelu: unary((x, { alpha }) => tfc.leakyRelu(x, numberOf(alpha, 0.2)), "alpha"),
  identity: unary(tfc.clone),
  stopGradient: unary((x) => detached(() => tfc.clone(x))),
  log2: unary((x) => tfc.div(tfc.log(x), Math.LN2)),
  log10: unary((x) => tfc.div(tfc.log(x), Math.LN10)),
  logAddExp: binary((a, b) => {
    const [x, y] = broadcasted(a, b);
    return tfc.add(tfc.maximum(x, y), tfc.softplus(tfc.neg(kinks.abs(tfc.sub(x, y)))));
  }),
  cast: unary((x, { dtype }) => tfc.cast(x, dtypeOf(dtype)), "dtype"),
  softmax: unary((x, { axis }) => alongLast(x, axis, tfc.softmax), "axis"),
  logSoftmax: unary((x, { axis }) => alongLast(x, axis, tfc.logSoftmax), "axis"),
  clip: unary(
    (x, { low, high }) => tfc.clipByValue(x, numberOf(low, -Infinity), numberOf(high, Infinity)),
    "low",
    "high",
  ),
  where: {
    parameters: ["condition", "x1", "x2"],
    run: (args: Arguments) => {
      const [a, b] = operands(args, ["x1", "x2"]) as [tfc.Tensor, tfc.Tensor];
      const shape = broadcastShape(["condition", "x1", "x2"])({
        condition: TensorShape.from((args["condition"] as tfc.Tensor).shape),
        x1: TensorShape.from(a.shape),
        x2: TensorShape.from(b.shape),
      }) as number[];
      const condition = tfc.broadcastTo(tfc.cast(args["condition"] as tfc.Tensor, "bool"), shape);
      return choose(condition, tfc.broadcastTo(a, shape), tfc.broadcastTo(b, shape));
    },
    shape: broadcastShape(["condition", "x1", "x2"]),
  },
};

const dtypes: Readonly<Record<string, tfc.DataType>> = {
  float16: "float32",
  bfloat16: "float32",
  float32: "float32",
  float64: "float32",
  int8: "int32",
  int16: "int32",
  int32: "int32",
  int64: "int32",
  uint8: "int32",
  bool: "bool",
};

/** Returns the TensorFlow.js dtype for one of Keras. */
export function dtypeOf(dtype: unknown): tfc.DataType {
  return (typeof dtype === "string" ? dtypes[dtype] : undefined) ?? "float32";
}

/** Runs a function that works along the last axis along another axis. */
export function alongLast(x: tfc.Tensor, axis: unknown, run: (x: tfc.Tensor) => tfc.Tensor): tfc.Tensor {
  const at = numberOf(axis, -1);
  const from = at < 0 ? at + x.rank : at;
  if (from === x.rank - 1) return run(x);
  const order = Array.from({ length: x.rank }, (_, i) => i);
  [order[from], order[x.rank - 1]] = [x.rank - 1, from];
  return tfc.transpose(run(tfc.transpose(x, order)), order);
}
