import fc from "fast-check";
import {
  anyShape,
  broadcastPair,
  type Dtype,
  type Generators,
  type KernelCase,
  kernelCase,
  mostlyNumeric,
  numeric,
  t,
  tensor,
} from "./kernel-case.js";

const each = (names: string, arbitrary: fc.Arbitrary<KernelCase>): Generators =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, arbitrary]),
  );

const unary = tensor(anyShape, mostlyNumeric).map((x) => kernelCase({ x }));

const binary = (a: fc.Arbitrary<Dtype>, b: fc.Arbitrary<Dtype>) =>
  fc.tuple(broadcastPair, a, b).map(([[m, n], p, q]) => kernelCase({ a: t(m, p), b: t(n, q) }));

/** As tfjs calls them: both of one dtype. */
const alike = fc
  .tuple(broadcastPair, mostlyNumeric)
  .map(([[m, n], dtype]) => kernelCase({ a: t(m, dtype), b: t(n, dtype) }));
const alikeOrMixed = fc.oneof(alike, binary(mostlyNumeric, mostlyNumeric));
const bools = fc.constant<Dtype>("bool");

const select = fc
  .tuple(anyShape, numeric, numeric, fc.constantFrom("scalar", "row", "all"))
  .map(([shape, p, q, kind]) => {
    const condition = kind === "scalar" ? [] : kind === "row" && shape.length > 0 ? [shape[0]] : shape;
    return kernelCase({ condition: t(condition, "bool"), t: t(shape, p), e: t(shape, q) });
  });

export const elementwiseGenerators: Generators = {
  ...each(
    `Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Expm1 Floor IsFinite IsInf IsNan Log Log1p LogicalNot Neg Reciprocal
    Relu Relu6 Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Sqrt Square Tan Tanh`,
    unary,
  ),
  ...each("Add Sub Multiply", alikeOrMixed),
  ...each(
    `Atan2 BitwiseAnd Equal FloorDiv Greater GreaterEqual Less LessEqual Maximum Minimum Mod NotEqual Pow RealDiv SquaredDifference`,
    alikeOrMixed,
  ),
  ...each("LogicalAnd LogicalOr LogicalXor", fc.oneof(binary(bools, bools), alikeOrMixed)),
  AddN: fc
    .tuple(anyShape, mostlyNumeric, fc.integer({ min: 1, max: 4 }))
    .map(([shape, dtype, n]) => kernelCase(Array.from({ length: n }, () => t(shape, dtype)))),
  ClipByValue: fc
    .tuple(tensor(anyShape, mostlyNumeric), fc.integer(), fc.nat())
    .map(([x, min, span]) => kernelCase({ x }, { clipValueMin: min, clipValueMax: min + span })),
  EluGrad: fc
    .tuple(anyShape, mostlyNumeric)
    .map(([shape, dtype]) => kernelCase({ dy: t(shape, dtype), y: t(shape, dtype) })),
  LeakyRelu: fc
    .tuple(tensor(anyShape, mostlyNumeric), fc.float({ noNaN: true }))
    .map(([x, alpha]) => kernelCase({ x }, { alpha })),
  Prelu: fc
    .tuple(broadcastPair, mostlyNumeric)
    .map(([[m, n], dtype]) => kernelCase({ x: t(m, dtype), alpha: t(n, dtype) })),
  Select: select,
  Step: fc
    .tuple(tensor(anyShape, mostlyNumeric), fc.float({ noNaN: true }))
    .map(([x, alpha]) => kernelCase({ x }, { alpha })),
};
