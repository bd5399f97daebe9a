import {
  cast,
  expandDims,
  greaterEqual,
  type serialization,
  sum,
  type Tensor,
  tensor1d,
  tidy,
} from "@tensorflow/tfjs-core";
import { penalize } from "./activity-penalty.js";
import { type EncodingMode, encodeCategories, encodedShape } from "./category-encoding.js";
import { type CallOptions, firstInput, firstShape, type LayerShape, OwnLayer } from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/** Keras' `Discretization`: the index of the range between given boundaries that contains a number. */
export class Discretization extends OwnLayer {
  static readonly className = "Discretization";
  readonly #args: Args;
  readonly #boundaries: readonly number[];
  readonly #mode: EncodingMode | "int";

  constructor(args: Args) {
    super(args);
    this.#args = args;
    this.#boundaries = (args["binBoundaries"] as readonly number[] | null | undefined) ?? [];
    // Values with two words are in camel case.
    this.#mode = (args["outputMode"] as EncodingMode | undefined) ?? "int";
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    if (this.#boundaries.length === 0) throw new Error("it has no bin boundaries, because it was not adapted to data");
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const shape = firstShape(inputShape);
    if (this.#mode === "int") return shape;
    return encodedShape(shape, this.#mode, this.#boundaries.length + 1);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      const bins = sum(cast(greaterEqual(expandDims(x, -1), tensor1d([...this.#boundaries])), "int32"), -1);
      if (this.#mode === "int") return bins;
      return encodeCategories(bins, this.#mode, this.#boundaries.length + 1);
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as serialization.ConfigDict) };
  }
}

/**
 * Keras' `ActivityRegularization`: passes its input on, and penalizes the magnitudes and squares of the input in the
 * loss. tfjs-layers does not support such a loss, so only the gradients include the penalty. The reported loss does
 * not.
 */
export class ActivityRegularization extends OwnLayer {
  static readonly className = "ActivityRegularization";
  readonly #l1: number;
  readonly #l2: number;

  constructor(args: Args) {
    super(args);
    this.#l1 = (args["l1"] as number | undefined) ?? 0;
    this.#l2 = (args["l2"] as number | undefined) ?? 0;
    this.supportsMasking = true;
  }

  override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor {
    const x = firstInput(inputs);
    return training === true ? penalize(x, { l1: this.#l1, l2: this.#l2 }) : x;
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), l1: this.#l1, l2: this.#l2 };
  }
}
