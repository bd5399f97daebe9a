import { type TensorInfo, upcastType } from "@tensorflow/tfjs-core";
import { type AB, forAll, type Infer, type InferTable, type X } from "./infer.js";
import { broadcast, refuseComplex } from "./shapes.js";

const unary: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  return call.make(x.shape, x.dtype);
};

const unaryFloat: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  return call.make(x.shape, "float32");
};

const unaryBool: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  return call.make(x.shape, "bool");
};

const abs: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  return call.make(x.shape, x.dtype === "complex64" ? "float32" : x.dtype);
};

/** Kernels that also support complex numbers. */
const arithmetic: Infer<AB> = ({ a, b }, _, call) => {
  const dtype = b.dtype === "complex64" ? "complex64" : a.dtype;
  return call.make(broadcast(a.shape, b.shape, call), dtype);
};

const binary: Infer<AB> = ({ a, b }, _, call) => {
  refuseComplex(call, a);
  refuseComplex(call, b);
  return call.make(broadcast(a.shape, b.shape, call), a.dtype);
};

/** The native backend converts operands to one dtype first. */
const power: Infer<AB> = (inputs, attributes, call) => {
  if (!call.traits.unifiesDtypes) return binary(inputs, attributes, call);
  const { a, b } = inputs;
  return call.make(broadcast(a.shape, b.shape, call), upcastType(a.dtype, b.dtype));
};

/** The native backend uses minimum and maximum, which return integers for bools. */
const clip: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  return call.make(x.shape, x.dtype === "bool" && call.traits.clipsBoolsToIntegers ? "int32" : x.dtype);
};

const binaryBool: Infer<AB> = ({ a, b }, _, call) => {
  refuseComplex(call, a);
  refuseComplex(call, b);
  return call.make(broadcast(a.shape, b.shape, call), "bool");
};

const floorDivide: Infer<AB> = ({ a, b }, _, call) => {
  refuseComplex(call, a);
  refuseComplex(call, b);
  return call.make(broadcast(a.shape, b.shape, call), call.traits.floorDivMakesIntegers ? "int32" : a.dtype);
};

const prelu: Infer<{ x: TensorInfo; alpha: TensorInfo }> = ({ x, alpha }, _, call) => {
  refuseComplex(call, x);
  refuseComplex(call, alpha);
  return call.make(broadcast(x.shape, alpha.shape, call), "float32");
};

const eluGrad: Infer<{ dy: TensorInfo; y: TensorInfo }> = ({ dy, y }, _, call) => {
  refuseComplex(call, dy);
  refuseComplex(call, y);
  return call.make(y.shape, "float32");
};

const addN: Infer<TensorInfo[]> = (tensors, _, call) => {
  for (const tensor of tensors) refuseComplex(call, tensor);
  return call.make(tensors[0].shape, tensors[0].dtype);
};

const select: Infer<{ condition: TensorInfo; t: TensorInfo; e: TensorInfo }> = ({ condition, t, e }, _, call) => {
  for (const tensor of [condition, t, e]) refuseComplex(call, tensor);
  return call.make(t.shape, upcastType(t.dtype, e.dtype));
};

/** Elementwise kernels, which broadcast two operands. */
export const elementwiseKernels: InferTable = {
  ...forAll(
    `Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Expm1 Floor Log Log1p Neg Reciprocal Relu Relu6 Round Rsqrt Selu
    Sigmoid Sign Sin Sinh Softplus Sqrt Square Step Tan Tanh`,
    unary,
  ),
  ...forAll("Exp LeakyRelu", unaryFloat),
  ...forAll("IsFinite IsInf IsNan LogicalNot", unaryBool),
  ...forAll("Add Sub Multiply", arithmetic),
  ...forAll("Atan2 BitwiseAnd Maximum Minimum Mod RealDiv SquaredDifference", binary),
  ...forAll("Equal Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalXor NotEqual", binaryBool),
  Abs: abs,
  AddN: addN,
  ClipByValue: clip,
  EluGrad: eluGrad,
  FloorDiv: floorDivide,
  Pow: power,
  Prelu: prelu,
  Select: select,
};
