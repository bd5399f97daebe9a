import {
  add,
  cast,
  greaterEqual,
  mul,
  randomUniform,
  type serialization,
  sub,
  type Tensor,
  tidy,
} from "@tensorflow/tfjs-core";
import { type CallOptions, firstInput, OwnLayer } from "./own-layer.js";

/** Limit of SELU for low inputs: minus its scale times its alpha. */
const lowest = -1.0507009873554805 * 1.6732632423543772;

interface AlphaDropoutArgs {
  readonly rate: number;
  /** Null and missing sizes are those of the input. */
  readonly noiseShape?: readonly (number | null)[] | null;
}

/**
 * Keras' `AlphaDropout`. Dropped values become the lowest value of SELU, and all values are scaled and shifted to keep
 * mean and variance. tfjs-layers 4.22 uses that value with the opposite sign, which moves the mean.
 */
export class AlphaDropout extends OwnLayer {
  static readonly className = "AlphaDropout";
  readonly #args: AlphaDropoutArgs;

  constructor(args: AlphaDropoutArgs) {
    super(args);
    this.#args = args;
    this.supportsMasking = true;
  }

  override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor {
    const x = firstInput(inputs);
    const { rate, noiseShape } = this.#args;
    if (training !== true || rate <= 0 || rate >= 1) return x;
    return tidy(() => {
      const shape = x.shape.map((size, axis) => noiseShape?.[axis] ?? size);
      const kept = cast(greaterEqual(randomUniform(shape), rate), "float32");
      const scale = ((1 - rate) * (1 + rate * lowest ** 2)) ** -0.5;
      const dropped = add(mul(x, kept), mul(sub(1, kept), lowest));
      return add(mul(dropped, scale), -scale * lowest * rate);
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as unknown as serialization.ConfigDict) };
  }
}
