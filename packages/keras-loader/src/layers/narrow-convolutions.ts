import {
  add,
  conv2d,
  conv2dTranspose,
  expandDims,
  pad,
  type serialization,
  squeeze,
  type Tensor,
  tidy,
  transpose,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { convolveDepthwise } from "./convolve.js";
import {
  type Activation,
  channelOrders,
  firstInput,
  firstShape,
  type LayerShape,
  OwnLayer,
  readActivation,
  sizesOf,
  type WeightOptions,
} from "./own-layer.js";
import { transposedSize } from "./transposed-convolutions.js";

type Args = Readonly<Record<string, unknown>>;

/**
 * A convolution along one axis that tfjs-layers 4.22 lacks. It runs as a two-dimensional one whose first axis has size
 * 1, because the kernels of TensorFlow.js are two-dimensional.
 */
abstract class NarrowConvolution extends OwnLayer {
  protected readonly args: Args;
  protected readonly size: number;
  protected readonly stride: number;
  protected readonly dilation: number;
  protected readonly padding: "same" | "valid" | "causal";
  readonly #isFirst: boolean;
  readonly #activation: Activation | undefined;
  protected bias: LayerVariable | undefined;

  constructor(args: Args) {
    super(args);
    this.args = args;
    [this.size, this.stride, this.dilation] = [
      sizesOf(args["kernelSize"], 1)[0] as number,
      sizesOf(args["strides"], 1)[0] as number,
      sizesOf(args["dilationRate"], 1)[0] as number,
    ];
    this.padding = (args["padding"] ?? "valid") as "same" | "valid" | "causal";
    this.#isFirst = args["dataFormat"] === "channelsFirst";
    this.#activation = readActivation(args["activation"]);
  }

  /** Adds the kernels for a number of input channels. Returns the number of output channels. */
  protected abstract addKernels(channels: number): number;
  /** Convolves `[batch, 1, length, channels]`. */
  protected abstract convolve(x: Tensor): Tensor;
  protected abstract outputChannels(channels: number): number;

  protected outputLength(length: number): number {
    const reach = (this.size - 1) * this.dilation + 1;
    return this.padding === "valid" ? Math.ceil((length - reach + 1) / this.stride) : Math.ceil(length / this.stride);
  }

  protected optionsOf(weight: string): WeightOptions {
    return {
      initializer: this.args[`${weight}Initializer`],
      regularizer: this.args[`${weight}Regularizer`],
      constraint: this.args[`${weight}Constraint`],
    };
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    const channels = firstShape(inputShape)[this.#isFirst ? 1 : 2] as number;
    const outputs = this.addKernels(channels);
    if (this.args["useBias"] !== false)
      this.bias = this.addOwnWeight("bias", [outputs], this.optionsOf("bias"), "zeros");
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const [batch, a, b] = firstShape(inputShape) as [number | null, number | null, number | null];
    const [length, channels] = this.#isFirst ? [b, a] : [a, b];
    const out = length === null ? null : this.outputLength(length);
    const outputs = this.outputChannels(channels as number);
    return this.#isFirst ? [batch, outputs, out] : [batch, out, outputs];
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      const { toLast, toFirst } = channelOrders(3);
      const last = this.#isFirst ? transpose(x, toLast) : x;
      const before = this.padding === "causal" ? (this.size - 1) * this.dilation : 0;
      const padded = before === 0 ? last : pad(last, [[0, 0], [before, 0], [0, 0]]); // biome-ignore format: one axis each
      const convolved = squeeze(this.convolve(expandDims(padded, 1)), [1]);
      const biased = this.bias === undefined ? convolved : add(convolved, this.bias.read());
      const active = this.#activation === undefined ? biased : this.#activation.apply(biased);
      return this.#isFirst ? transpose(active, toFirst) : active;
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.args as serialization.ConfigDict) };
  }

  /** Causal padding is added here before the convolution. */
  protected get corePadding(): "same" | "valid" {
    return this.padding === "same" ? "same" : "valid";
  }

  protected depthwise(x: Tensor, kernel: LayerVariable): Tensor {
    const { stride, corePadding: padding, dilation } = this;
    const window = { strides: [stride, stride], padding, dilationRate: [1, dilation] };
    return convolveDepthwise(x, expandDims(kernel.read(), 0), window);
  }
}

/** Keras' `DepthwiseConv1D`. */
export class DepthwiseConv1D extends NarrowConvolution {
  static readonly className = "DepthwiseConv1D";
  #kernel: LayerVariable | undefined;

  get #multiplier(): number {
    return (this.args["depthMultiplier"] as number | undefined) ?? 1;
  }

  protected override addKernels(channels: number): number {
    const shape = [this.size, channels, this.#multiplier];
    this.#kernel = this.addOwnWeight("depthwise_kernel", shape, this.optionsOf("depthwise"), "glorotUniform");
    return channels * this.#multiplier;
  }

  protected override outputChannels(channels: number): number {
    return channels * this.#multiplier;
  }

  protected override convolve(x: Tensor): Tensor {
    return this.depthwise(x, this.#kernel as LayerVariable);
  }
}

/** Keras' `SeparableConv1D`. */
export class SeparableConv1D extends NarrowConvolution {
  static readonly className = "SeparableConv1D";
  #depthwise: LayerVariable | undefined;
  #pointwise: LayerVariable | undefined;

  protected override addKernels(channels: number): number {
    const multiplier = (this.args["depthMultiplier"] as number | undefined) ?? 1;
    const filters = this.outputChannels();
    const depthwise = [this.size, channels, multiplier];
    const pointwise = [1, channels * multiplier, filters];
    this.#depthwise = this.addOwnWeight("depthwise_kernel", depthwise, this.optionsOf("depthwise"), "glorotUniform");
    this.#pointwise = this.addOwnWeight("pointwise_kernel", pointwise, this.optionsOf("pointwise"), "glorotUniform");
    return filters;
  }

  protected override outputChannels(): number {
    return this.args["filters"] as number;
  }

  protected override convolve(x: Tensor): Tensor {
    const filter = expandDims((this.#pointwise as LayerVariable).read(), 0) as never;
    return conv2d(this.depthwise(x, this.#depthwise as LayerVariable) as never, filter, 1, "valid");
  }
}

/** Keras' `Conv1DTranspose`. */
export class Conv1DTranspose extends NarrowConvolution {
  static readonly className = "Conv1DTranspose";
  #kernel: LayerVariable | undefined;

  protected override addKernels(channels: number): number {
    if (this.dilation !== 1) throw new Error("TensorFlow.js has no kernel for a dilated transposed convolution");
    const shape = [this.size, this.outputChannels(), channels];
    this.#kernel = this.addOwnWeight("kernel", shape, this.optionsOf("kernel"), "glorotUniform");
    return this.outputChannels();
  }

  protected override outputChannels(): number {
    return this.args["filters"] as number;
  }

  protected override outputLength(length: number): number {
    return transposedSize(length, this.size, this.padding, this.stride, sizesOf(this.args["outputPadding"], 1, -1)[0]);
  }

  protected override convolve(x: Tensor): Tensor {
    const [batch, , length] = x.shape as [number, number, number];
    const shape = [batch, 1, this.outputLength(length), this.outputChannels()] as [number, number, number, number];
    const filter = expandDims((this.#kernel as LayerVariable).read(), 0) as never;
    return conv2dTranspose(x as never, filter, shape, [1, this.stride], this.corePadding);
  }
}
