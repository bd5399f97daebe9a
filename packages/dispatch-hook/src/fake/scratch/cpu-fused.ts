import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { FakeBackend } from "../fake-backend.js";
import type { FusedAttributes, FusedInputs } from "../kernels/activation.js";
import type { AB, Infer, InferTable, X } from "../kernels/infer.js";
import { mismatch } from "../kernels/shapes.js";

const kernelOfActivation: Readonly<Record<string, string>> = {
  linear: "Identity",
  relu: "Relu",
  elu: "Elu",
  relu6: "Relu6",
  prelu: "Prelu",
  leakyrelu: "LeakyRelu",
  sigmoid: "Sigmoid",
};

function activate(x: TensorInfo, alpha: TensorInfo | undefined, activation: string, backend: FakeBackend): TensorInfo {
  const kernel = kernelOfActivation[activation];
  if (kernel === undefined) return mismatch(backend, `activation '${activation}' is not known`);
  if (kernel !== "Prelu") return backend.run(kernel, { x });
  return alpha == null ? mismatch(backend, "prelu has no weights") : backend.run(kernel, { x, alpha });
}

/** Product, sum with the bias and activation each on its own, all held to the end. */
const fusedMatMul: Infer<AB & FusedInputs, FusedAttributes> = (inputs, attributes, backend) => {
  const { a, b, bias, preluActivationWeights } = inputs;
  const held: TensorInfo[] = [];
  let out = backend.run("BatchMatMul", { a, b }, attributes);
  if (bias != null) {
    held.push(out);
    out = backend.run("Add", { a: out, b: bias });
  }
  if (attributes.activation) {
    held.push(out);
    out = activate(out, preluActivationWeights, attributes.activation, backend);
  }
  backend.release(...held);
  return out;
};

interface ConvolutionAttributes extends FusedAttributes {
  readonly dataFormat?: "NHWC" | "NCHW";
}

/** The same, but each let go of as soon as the next one is there. */
function fusedConvolution(kernel: string): Infer<X & { filter: TensorInfo } & FusedInputs, ConvolutionAttributes> {
  return (inputs, attributes, backend) => {
    const { x, filter, bias, preluActivationWeights } = inputs;
    const channelsFirst = kernel === "Conv2D" && attributes.dataFormat === "NCHW";
    let out = backend.run(kernel, { x, filter }, attributes);
    if (bias != null) {
      const product = out;
      out = backend.run("Add", { a: product, b: channelsFirst ? alongChannels(bias) : bias });
      backend.release(product);
    }
    if (attributes.activation) {
      const sum = out;
      const alpha =
        channelsFirst && preluActivationWeights ? alongChannels(preluActivationWeights) : preluActivationWeights;
      out = activate(sum, alpha, attributes.activation, backend);
      backend.release(sum);
    }
    return out;
  };
}

/** With channels first, a vector lies along them; Reshape shares, so nothing is made for it. */
function alongChannels(x: TensorInfo): TensorInfo {
  return x.shape.length === 1 && x.shape[0] !== 1 ? { ...x, shape: [x.shape[0], 1, 1] } : x;
}

/** Fused kernels, which the cpu backend makes of the kernels that they stand for. */
export const fusedCpuScratch: InferTable = {
  _FusedMatMul: fusedMatMul,
  FusedConv2D: fusedConvolution("Conv2D"),
  FusedDepthwiseConv2D: fusedConvolution("DepthwiseConv2dNative"),
};
