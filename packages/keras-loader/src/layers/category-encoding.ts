import { cast, max, oneHot, type serialization, squeeze, sum, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { firstInput, firstShape, type LayerShape, OwnLayer } from "./own-layer.js";

/** Encoding of whole numbers: each one separately, which ones occur along the last axis, or how often. */
export type EncodingMode = "oneHot" | "multiHot" | "count";

/** Returns the output shape of {@link encodeCategories}. */
export function encodedShape(shape: LayerShape, mode: EncodingMode, depth: number): LayerShape {
  const isOfOne = shape.at(-1) === 1 && shape.length > 1;
  if (mode === "oneHot") return [...(isOfOne ? shape.slice(0, -1) : shape), depth];
  return [...(shape.length > 1 ? shape.slice(0, -1) : shape), depth];
}

/** Encodes whole numbers below `depth` in `depth` numbers, as Keras does. */
export function encodeCategories(x: Tensor, mode: EncodingMode, depth: number): Tensor {
  const isOfOne = x.rank > 1 && x.shape.at(-1) === 1;
  const single = mode === "oneHot" && isOfOne ? squeeze(x, [-1]) : x;
  const places = cast(oneHot(cast(single, "int32") as never, depth), "float32");
  if (mode === "oneHot") return places;
  return mode === "count" ? sum(places, -2) : max(places, -2);
}

interface CategoryEncodingArgs {
  readonly numTokens: number;
  readonly outputMode?: EncodingMode;
}

/**
 * Keras' `CategoryEncoding`. The class of tfjs-layers 4.22 reads the values of its input. That waits for the backend,
 * and fails in fake mode.
 */
export class CategoryEncoding extends OwnLayer {
  static readonly className = "CategoryEncoding";
  readonly #args: CategoryEncodingArgs;

  constructor(args: CategoryEncodingArgs) {
    super(args);
    this.#args = args;
  }

  get #mode(): EncodingMode {
    return this.#args.outputMode ?? "multiHot";
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    return encodedShape(firstShape(inputShape), this.#mode, this.#args.numTokens);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => encodeCategories(firstInput(inputs), this.#mode, this.#args.numTokens));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as unknown as serialization.ConfigDict) };
  }
}
