import {
  add,
  dropout,
  expandDims,
  matMul,
  mul,
  type serialization,
  softmax,
  sum,
  type Tensor,
  tanh,
  tidy,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { type InputIndices, spreadInputs, spreadShapes } from "./attention-inputs.js";
import { type AttentionCall, asNumbers, both, causal, hideMasked } from "./attention-masks.js";
import { firstShape, type LayerShape, OwnLayer } from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/** Keras' `Attention` and `AdditiveAttention`, for a query, values and optional keys. */
abstract class DotOrAdditive extends OwnLayer {
  readonly #dropout: number;
  protected readonly args: Args;
  protected scale: LayerVariable | undefined;

  constructor(args: Args = {}) {
    super(args);
    this.args = args;
    this.#dropout = (args["dropout"] as number | undefined) ?? 0;
  }

  protected abstract scores(query: Tensor, key: Tensor): Tensor;

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape | LayerShape[] {
    const [query, value, key = value] = spreadShapes(inputShape, this.#indices) as [
      LayerShape,
      LayerShape,
      LayerShape?,
    ];
    const out = [...query.slice(0, -1), value.at(-1) ?? null];
    return this.#returnsScores ? [out, [...query.slice(0, -1), key.at(-2) ?? null]] : out;
  }

  override call(inputs: Tensor | Tensor[], { training, mask = [] }: AttentionCall = {}): Tensor | Tensor[] {
    return tidy(() => {
      const [query, value, key = value] = spreadInputs(inputs, this.#indices) as [Tensor, Tensor, Tensor?];
      const [ofQuery, ofValue] = spreadInputs(mask, this.#indices);
      const scores = this.scores(query, key);
      const isCausal = this.args["useCausalMask"] === true || this.args["causal"] === true;
      const inOrder = isCausal ? causal(scores.shape[1] as number, scores.shape[2] as number) : undefined;
      const weights = softmax(hideMasked(scores, both([inOrder, asNumbers(ofValue, 1)])));
      const kept = training === true && this.#dropout > 0 ? dropout(weights, this.#dropout) : weights;
      const attended = matMul(kept, value);
      const counted = asNumbers(ofQuery, -1);
      const out = counted === undefined ? attended : mul(attended, counted);
      return this.#returnsScores ? [out, kept] : out;
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.args as serialization.ConfigDict) };
  }

  get #indices(): InputIndices {
    return this.args["inputIndices"] as InputIndices;
  }

  get #returnsScores(): boolean {
    return this.args["returnAttentionScores"] === true;
  }
}

/** Keras' `Attention`, with products of queries and keys as scores. */
export class Attention extends DotOrAdditive {
  static readonly className = "Attention";

  override build(inputShape: LayerShape | LayerShape[]): void {
    if (this.args["scoreMode"] === "concat")
      throw new Error("the score mode 'concat' is not supported; use 'dot' or AdditiveAttention");
    if (this.args["useScale"] === true) this.scale = this.addOwnWeight("scale", [], {}, "ones");
    super.build(inputShape);
  }

  protected override scores(query: Tensor, key: Tensor): Tensor {
    const products = matMul(query, key, false, true);
    return this.scale === undefined ? products : mul(products, this.scale.read());
  }
}

/** Keras' `AdditiveAttention`, with sums over `tanh(query + key)` as scores. */
export class AdditiveAttention extends DotOrAdditive {
  static readonly className = "AdditiveAttention";

  override build(inputShape: LayerShape | LayerShape[]): void {
    const query = firstShape(inputShape);
    if (this.args["useScale"] !== false)
      this.scale = this.addOwnWeight("scale", [query.at(-1) as number], {}, "glorotUniform");
    super.build(inputShape);
  }

  protected override scores(query: Tensor, key: Tensor): Tensor {
    const added = tanh(add(expandDims(query, -2), expandDims(key, -3)));
    return sum(this.scale === undefined ? added : mul(added, this.scale.read()), -1);
  }
}
