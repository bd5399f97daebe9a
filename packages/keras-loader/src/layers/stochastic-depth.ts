import { add, div, floor, mul, randomUniform, type serialization, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { initializers, type LayerVariable, layers } from "@tensorflow/tfjs-layers";

/** `LayerScale` of Keras' ConvNeXt: multiplies each channel by its own weight, which is small at first. */
export class LayerScale extends layers.Layer {
  static readonly className = "LayerScale";
  readonly #args: { readonly initValues: number; readonly projectionDim: number };
  #gamma: LayerVariable | undefined;

  constructor(args: { readonly name?: string; readonly initValues: number; readonly projectionDim: number }) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
    this.#args = { initValues: args.initValues, projectionDim: args.projectionDim };
  }

  override build(inputShape: (number | null)[] | (number | null)[][]): void {
    const { initValues, projectionDim } = this.#args;
    const value = initializers.constant({ value: initValues });
    this.#gamma = this.addWeight("gamma", [projectionDim], "float32", value, undefined, true);
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const x = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
    return tidy(() => mul(x, (this.#gamma as LayerVariable).read()));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...this.#args };
  }
}

/**
 * `StochasticDepth` of Keras' ConvNeXt: in training, it drops the whole branch of a sample with a given probability,
 * and scales the branches of the other samples.
 */
export class StochasticDepth extends layers.Layer {
  static readonly className = "StochasticDepth";
  readonly #rate: number;

  constructor(args: { readonly name?: string; readonly dropPathRate: number }) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
    this.#rate = args.dropPathRate;
  }

  override call(inputs: Tensor | Tensor[], { training }: { readonly training?: unknown } = {}): Tensor {
    const x = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
    if (training !== true) return x;
    return tidy(() => {
      const kept = 1 - this.#rate;
      const perSample = x.shape.map((size, axis) => (axis === 0 ? size : 1));
      return mul(div(x, kept), floor(add(randomUniform(perSample), kept)));
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), dropPathRate: this.#rate };
  }
}
