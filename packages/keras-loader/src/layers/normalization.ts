import { RematError } from "@remat/trace";
import {
  add,
  div,
  maximum,
  mul,
  reshape,
  type serialization,
  sqrt,
  sub,
  type Tensor,
  tensor,
  tidy,
} from "@tensorflow/tfjs-core";
import { initializers, type LayerVariable, layers } from "@tensorflow/tfjs-layers";

/** Keras' `backend.epsilon()`, the lower bound of the deviation. */
const epsilon = 1e-7;

/** Arguments of {@link Normalization}: those of Keras in camel case. */
export interface NormalizationArgs {
  /** Name of the layer. */
  readonly name?: string;
  /** Axes with separate statistics. null means one mean and variance for everything. Default: -1. */
  readonly axis?: number | readonly number[] | null;
  /**
   * Known means, one for each position of `axis`. Give both `mean` and `variance`, or neither. If you give neither,
   * they are weights with initial values 0 and 1.
   */
  readonly mean?: number | readonly number[] | null;
  /** Known variances, one for each position of `axis`. */
  readonly variance?: number | readonly number[] | null;
  /** True to invert the normalization: mean + input × deviation. Default: false. */
  readonly invert?: boolean;
}

/**
 * Keras' preprocessing layer `Normalization`, which tfjs-layers 4.22 lacks: (input − mean) / max(√variance, 1e-7).
 *
 * Its non-trainable weights are those of Keras in the same order, `mean`, `variance` and the scalar `count`, so that
 * parameter counts and `setWeights` agree with Keras. There is no method `adapt`. Set the weights, or pass `mean` and
 * `variance`.
 *
 * @example
 * new Normalization({ mean: [3, 2], variance: [4, 1] }).apply(tf.tensor2d([[5, 2]])); // [[1, 0]]
 */
export class Normalization extends layers.Layer {
  /** Name of the class in topologies. */
  static readonly className = "Normalization";
  readonly #axis: readonly number[];
  readonly #given:
    | { readonly mean: number | readonly number[]; readonly variance: number | readonly number[] }
    | undefined;
  readonly #invert: boolean;
  #mean: LayerVariable | undefined;
  #variance: LayerVariable | undefined;
  #broadcastShape: number[] = [];

  constructor(args: NormalizationArgs = {}) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
    const { axis = -1, mean = null, variance = null } = args;
    this.#axis = axis === null ? [] : typeof axis === "number" ? [axis] : axis;
    if ((mean === null) !== (variance === null)) {
      throw new RematError(
        "KERAS_NORMALIZATION",
        `Normalization '${this.name}' has ${mean === null ? "a variance without a mean" : "a mean without a variance"}. Set both or neither.`,
      );
    }
    this.#given = mean === null || variance === null ? undefined : { mean, variance };
    this.#invert = args.invert ?? false;
    this.supportsMasking = true;
  }

  /** Creates the weights. */
  override build(inputShape: (number | null)[] | (number | null)[][]): void {
    const shape = (Array.isArray(inputShape[0]) ? inputShape[0] : inputShape) as (number | null)[];
    const kept = new Set(this.#axis.map((axis) => (axis < 0 ? axis + shape.length : axis)));
    for (const axis of kept) {
      if (shape[axis] === undefined || shape[axis] === null) {
        throw new RematError(
          "KERAS_NORMALIZATION",
          `Normalization '${this.name}' keeps axis ${axis} of an input [${shape.map((size) => size ?? "null").join(", ")}], ` +
            "whose size is unknown there. Choose an axis of known size.",
        );
      }
    }
    this.#broadcastShape = shape.map((size, axis) => (kept.has(axis) ? (size as number) : 1));
    if (this.#given === undefined) {
      const statistics = shape.filter((_size, axis) => kept.has(axis)) as number[];
      this.#mean = this.addWeight("mean", statistics, "float32", initializers.zeros(), undefined, false);
      this.#variance = this.addWeight("variance", statistics, "float32", initializers.ones(), undefined, false);
      this.addWeight("count", [], "int32", initializers.zeros(), undefined, false);
    }
    super.build(inputShape);
  }

  /** Normalizes the input. */
  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const input = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
      const mean = this.#statistic(this.#mean, this.#given?.mean);
      const deviation = maximum(sqrt(this.#statistic(this.#variance, this.#given?.variance)), epsilon);
      return this.#invert ? add(mul(input, deviation), mean) : div(sub(input, mean), deviation);
    });
  }

  /** Returns the arguments of the layer. */
  override getConfig(): serialization.ConfigDict {
    const { mean = null, variance = null } = this.#given ?? {};
    const own = { axis: [...this.#axis], mean, variance, invert: this.#invert } as serialization.ConfigDict;
    return { ...super.getConfig(), ...own };
  }

  #statistic(weight: LayerVariable | undefined, given: number | readonly number[] | undefined): Tensor {
    if (weight !== undefined) return reshape(weight.read(), this.#broadcastShape);
    const values = tensor((given ?? 0) as number | number[]);
    return values.size === 1
      ? reshape(
          values,
          this.#broadcastShape.map(() => 1),
        )
      : reshape(values, this.#broadcastShape);
  }
}
