import {
  add,
  clipByValue,
  dropout,
  mul,
  ones,
  type serialization,
  step,
  sub,
  type Tensor,
  tidy,
} from "@tensorflow/tfjs-core";
import { type CallOptions, firstInput, OwnLayer } from "./own-layer.js";

/** Drops whole channels in training: `SpatialDropout2D` and `SpatialDropout3D` of Keras. */
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

/** Keras' `ReLU` with a slope below a threshold, which tfjs-layers 4.22 reads past. */
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
      const kept = maxValue === null ? x : clipByValue(x, -Infinity, maxValue);
      // 1 above the threshold, else 0: a choice by a comparison would have no gradient.
      const isAbove = step(sub(x, threshold));
      const below = mul(mul(sub(x, threshold), negativeSlope), sub(1, isAbove));
      return add(mul(kept, isAbove), below);
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...this.#args };
  }
}
