import {
  add,
  clipByValue,
  dropout,
  expm1,
  leakyRelu,
  minimum,
  mul,
  ones,
  relu,
  type serialization,
  softmax,
  step,
  sub,
  type Tensor,
  tidy,
  transpose,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { prelu, relu6 } from "../operations/kinks.js";
import type { LayerClass } from "./layer-class.js";
import { type CallOptions, firstInput, OwnLayer } from "./own-layer.js";

/** Keras' `SpatialDropout2D` and `SpatialDropout3D`: drop whole channels in training. */
abstract class SpatialDropout extends OwnLayer {
  readonly #rate: number;
  readonly #isFirst: boolean;

  constructor(args: { readonly name?: string; readonly rate: number; readonly dataFormat?: string }) {
    super(args);
    this.#rate = args.rate;
    this.#isFirst = args.dataFormat === "channelsFirst";
    this.supportsMasking = true;
  }

  override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor {
    const x = firstInput(inputs);
    if (training !== true || this.#rate === 0) return x;
    const channels = this.#isFirst ? 1 : x.rank - 1;
    return tidy(() => {
      const noise = x.shape.map((size, axis) => (axis === 0 || axis === channels ? size : 1));
      return mul(x, dropout(ones(noise), this.#rate));
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), rate: this.#rate, ...(this.#isFirst && { dataFormat: "channelsFirst" }) };
  }
}

/** Keras' `SpatialDropout2D`. */
export class SpatialDropout2D extends SpatialDropout {
  static readonly className = "SpatialDropout2D";
}

/** Keras' `SpatialDropout3D`. */
export class SpatialDropout3D extends SpatialDropout {
  static readonly className = "SpatialDropout3D";
}

/** Keras' `ReLU` with a slope below a threshold, which tfjs-layers 4.22 ignores. */
export class SlopedReLU extends OwnLayer {
  static readonly className = "ReLU";
  readonly #args: { readonly maxValue: number | null; readonly negativeSlope: number; readonly threshold: number };

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args);
    const { maxValue, negativeSlope, threshold } = args as Record<string, number | null | undefined>;
    this.#args = { maxValue: maxValue ?? null, negativeSlope: negativeSlope ?? 0, threshold: threshold ?? 0 };
    this.supportsMasking = true;
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const { maxValue, negativeSlope, threshold } = this.#args;
    return tidy(() => {
      const x = firstInput(inputs);
      // Keras uses another function for this one, whose gradient differs at 0.
      if (threshold === 0 && maxValue === null) return leakyRelu(x, negativeSlope);
      const positive = this.#positivePart(x);
      return negativeSlope === 0 ? positive : sub(positive, mul(relu(sub(threshold, x)), negativeSlope));
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...this.#args };
  }

  #positivePart(x: Tensor): Tensor {
    const { maxValue, threshold } = this.#args;
    if (threshold === 0 && maxValue === 6) return relu6(x);
    // `step` is 1 above the threshold, otherwise 0. Selecting by a comparison would have no gradient.
    const above = threshold === 0 ? relu(x) : mul(x, step(sub(x, threshold)));
    return maxValue === null ? above : clipByValue(above, 0, maxValue);
  }
}

/** Keras' `ELU` with a scale, which tfjs-layers 4.22 does not support. */
export class ScaledELU extends OwnLayer {
  static readonly className = "ELU";
  readonly #alpha: number;

  constructor(args: { readonly alpha: number }) {
    super(args);
    this.#alpha = args.alpha;
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const x = firstInput(inputs);
    return tidy(() => add(relu(x), mul(this.#alpha, expm1(minimum(x, 0)))));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), alpha: this.#alpha };
  }
}

/** Keras' `Softmax` along any axis. TensorFlow.js supports only the last. */
export class SoftmaxAlong extends OwnLayer {
  static readonly className = "Softmax";
  readonly #axis: number;

  constructor(args: { readonly axis: number | readonly number[] }) {
    super(args);
    if (Array.isArray(args.axis) && args.axis.length !== 1) throw new Error("several axes are not supported; use one");
    this.#axis = [args.axis].flat()[0] as number;
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const x = firstInput(inputs);
    const order = Array.from({ length: x.rank }, (_, i) => i);
    const axis = this.#axis < 0 ? this.#axis + x.rank : this.#axis;
    // Swapping the same two axes again restores the order.
    [order[axis], order[x.rank - 1]] = [x.rank - 1, axis];
    return tidy(() => transpose(softmax(transpose(x, order)), order));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), axis: this.#axis };
  }
}

/** Returns PReLU with Keras' gradient at 0. */
export function withKerasGradient(stock: LayerClass): LayerClass {
  return class extends stock {
    override call(inputs: Tensor | Tensor[]): Tensor {
      const { alpha } = this as unknown as { readonly alpha: LayerVariable };
      return prelu(firstInput(inputs), alpha.read());
    }
  };
}

/** Keras 2's `ThresholdedReLU` with a gradient. tfjs-layers 4.22 would need the gradient of a comparison. */
export class ThresholdedReLU extends OwnLayer {
  static readonly className = "ThresholdedReLU";
  readonly #theta: number;

  constructor(args: { readonly theta?: number } = {}) {
    super(args);
    this.#theta = args.theta ?? 1;
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const x = firstInput(inputs);
    return tidy(() => mul(x, step(sub(x, this.#theta))));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), theta: this.#theta };
  }
}
