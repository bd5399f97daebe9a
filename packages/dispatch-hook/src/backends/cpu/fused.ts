import type { TensorInfo } from "@tensorflow/tfjs-core";
import {
  type AB,
  type FusedAttributes,
  type FusedInputs,
  type Infer,
  type InferTable,
  type KernelCall,
  mismatch,
  type X,
} from "../../kernels/index.js";

const kernelOfActivation: Readonly<Record<string, string>> = {
  linear: "Identity",
  relu: "Relu",
  elu: "Elu",
  relu6: "Relu6",
  prelu: "Prelu",
  leakyrelu: "LeakyRelu",
  sigmoid: "Sigmoid",
};

function activate(x: TensorInfo, alpha: TensorInfo | undefined, activation: string, call: KernelCall): TensorInfo {
  const kernel = kernelOfActivation[activation];
  if (kernel === undefined) return mismatch(call, `activation '${activation}' is not known`);
  if (kernel !== "Prelu") return call.run(kernel, { x });
  return alpha == null ? mismatch(call, "prelu has no weights") : call.run(kernel, { x, alpha });
}

/** Runs product, bias addition and activation separately. All temporaries live until the end. */
const fusedMatMul: Infer<AB & FusedInputs, FusedAttributes> = (inputs, attributes, call) => {
  const { a, b, bias, preluActivationWeights } = inputs;
  const held: TensorInfo[] = [];
  let out = call.run("BatchMatMul", { a, b }, attributes);
  if (bias != null) {
    held.push(out);
    out = call.run("Add", { a: out, b: bias });
  }
  if (attributes.activation) {
    held.push(out);
    out = activate(out, preluActivationWeights, attributes.activation, call);
  }
  call.release(...held);
  return out;
};

interface ConvolutionAttributes extends FusedAttributes {
  readonly dataFormat?: "NHWC" | "NCHW";
}

/** Runs the same steps, but frees each temporary once the next one exists. */
function fusedConvolution(kernel: string): Infer<X & { filter: TensorInfo } & FusedInputs, ConvolutionAttributes> {
  return (inputs, attributes, call) => {
    const { x, filter, bias, preluActivationWeights } = inputs;
    const channelsFirst = kernel === "Conv2D" && attributes.dataFormat === "NCHW";
    let out = call.run(kernel, { x, filter }, attributes);
    if (bias != null) {
      const product = out;
      out = call.run("Add", { a: product, b: channelsFirst ? alongChannels(bias) : bias });
      call.release(product);
    }
    if (attributes.activation) {
      const sum = out;
      const alpha =
        channelsFirst && preluActivationWeights ? alongChannels(preluActivationWeights) : preluActivationWeights;
      out = activate(sum, alpha, attributes.activation, call);
      call.release(sum);
    }
    return out;
  };
}

/** With channels first, a vector is applied along the channels. Reshape shares its buffer, so nothing is allocated. */
function alongChannels(x: TensorInfo): TensorInfo {
  return x.shape.length === 1 && x.shape[0] !== 1 ? { ...x, shape: [x.shape[0], 1, 1] } : x;
}

/** Fused kernels, which the cpu backend composes of the kernels that they replace. */
export const fusedCpuScratch: InferTable = {
  _FusedMatMul: fusedMatMul,
  FusedConv2D: fusedConvolution("Conv2D"),
  FusedDepthwiseConv2D: fusedConvolution("DepthwiseConv2dNative"),
};
