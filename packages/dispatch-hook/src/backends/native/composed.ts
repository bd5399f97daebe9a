import {
  abs,
  add,
  cast,
  elu,
  fill,
  greater,
  isNaN as isNotANumber,
  leakyRelu,
  matMul,
  maximum,
  minimum,
  mul,
  ones,
  prelu,
  relu,
  relu6,
  rsqrt,
  scalar,
  sigmoid,
  sub,
  type Tensor,
  tidy,
  where,
} from "@tensorflow/tfjs-core";
import { type FusedAttributes, type Infer, type InferTable, type KernelCall, mismatch } from "../../kernels/index.js";
import { plainRule } from "../../kernels/plain-rule.js";

/**
 * Kernels that tfjs-node composes of TensorFlow.js ops, which run as kernels within the kernel. Their results are
 * tensors of the engine, freed by a tidy or `dispose`.
 */

/** The engine passes tensors to kernels. */
type Inputs<Name extends string, Optional extends string = never> = Readonly<
  Record<Name, Tensor> & Partial<Record<Optional, Tensor>>
>;

interface Activation extends FusedAttributes {
  readonly leakyreluAlpha?: number;
}

function activate(x: Tensor, alpha: Tensor | undefined, attributes: Activation, call: KernelCall): Tensor {
  const { activation, leakyreluAlpha } = attributes;
  switch (activation) {
    case null:
    case undefined:
    case "linear":
      return x;
    case "relu":
      return relu(x);
    case "prelu":
      return alpha == null ? mismatch(call, "prelu has no weights") : prelu(x, alpha);
    case "leakyrelu":
      return leakyRelu(x, leakyreluAlpha);
    case "elu":
      return elu(x);
    case "relu6":
      return relu6(x);
    case "sigmoid":
      return sigmoid(x);
    default:
      return mismatch(call, `activation '${activation}' is not known`);
  }
}

type FusedInputs = "bias" | "preluActivationWeights";

const fusedMatMul: Infer<
  Inputs<"a" | "b", FusedInputs>,
  Activation & { transposeA?: boolean; transposeB?: boolean }
> = ({ a, b, bias, preluActivationWeights }, attributes, call) =>
  tidy(() => {
    let result = matMul(a, b, attributes.transposeA, attributes.transposeB);
    if (bias != null) result = add(result, bias);
    return activate(result, preluActivationWeights, attributes, call);
  });

function fusedConvolution(kernel: string): Infer<Inputs<"x" | "filter", FusedInputs>, Activation> {
  const plain = plainRule(kernel);
  return ({ x, filter, bias, preluActivationWeights }, attributes, call) => {
    const product = call.tensorOf(plain({ x, filter }, attributes, call));
    const sum = bias == null ? product : add(product, bias);
    const result = activate(sum, preluActivationWeights, attributes, call);
    if (sum !== product) product.dispose();
    if (result !== sum) sum.dispose();
    return result;
  };
}

/** TensorFlow's kernel supports only vectors. It also returns the statistics twice. */
const fusedBatchNorm: Infer<Inputs<"x" | "mean" | "variance", "scale" | "offset">, { varianceEpsilon: number }> = (
  inputs,
  attributes,
  call,
) => {
  const { x, mean, variance, scale, offset } = inputs;
  return tidy(() => {
    if (mean.rank > 1) {
      let inverse = rsqrt(add(variance, scalar(attributes.varianceEpsilon)));
      if (scale != null) inverse = mul(inverse, scale);
      const normalized = mul(sub(x, mean), inverse);
      return offset != null ? add(normalized, offset) : normalized;
    }
    const depth = x.shape[3] as number;
    const given = { ...inputs, scale: scale ?? fill([depth], 1), offset: offset ?? fill([depth], 0) };
    const out = call.tensorOf(plainRule("FusedBatchNorm")(given, attributes, call));
    for (let i = 0; i < 4; i++) call.tensorOf(call.make([depth], "float32"));
    return out;
  });
};

const parametricRelu: Infer<Inputs<"x" | "alpha">> = ({ x, alpha }) =>
  tidy(() => {
    const positive = relu(x);
    return add(positive, mul(mul(alpha, sub(x, abs(x))), 0.5));
  });

const step: Infer<Inputs<"x">, { alpha: number }> = (inputs, attributes, call) => {
  const { x } = inputs;
  return tidy(() => {
    isNotANumber(x);
    where(greater(x, scalar(0, x.dtype)), ones(x.shape), fill(x.shape, attributes.alpha, x.dtype));
    return call.tensorOf(plainRule("Step")(inputs, attributes, call));
  });
};

const clipByValue: Infer<Inputs<"x">, { clipValueMin: number; clipValueMax: number }> = ({ x }, attributes) =>
  tidy(() => {
    const below = minimum(x, scalar(attributes.clipValueMax, x.dtype));
    return maximum(below, scalar(attributes.clipValueMin, x.dtype));
  });

/** Disposes of an integer argument, which is the caller's own tensor, and leaves the copy to the caller's tidy. */
const exp: Infer<Inputs<"x">> = ({ x }, attributes, call) => {
  if (x.dtype === "complex64") return call.make(x.shape, "complex64");
  if (x.dtype !== "int32") return plainRule("Exp")({ x }, attributes, call);
  const float = cast(x, "float32");
  x.dispose();
  return plainRule("Exp")({ x: float }, attributes, call);
};

export const composedOnTensorflow: InferTable = {
  _FusedMatMul: fusedMatMul,
  ClipByValue: clipByValue,
  Exp: exp,
  FusedBatchNorm: fusedBatchNorm,
  FusedConv2D: fusedConvolution("Conv2D"),
  FusedDepthwiseConv2D: fusedConvolution("DepthwiseConv2dNative"),
  Prelu: parametricRelu,
  Step: step,
};
