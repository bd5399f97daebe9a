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
import { contract } from "../operations/contract.js";
import { type CallOptions, type LayerShape, OwnLayer } from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/** Keras' `Attention` and `AdditiveAttention`, of a query, values and perhaps keys; masks and causal attention are not told by a topology's call here. */
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

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const [query, value] = inputShape as [LayerShape, LayerShape];
    return [...query.slice(0, -1), value.at(-1) ?? null];
  }

  override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor {
    return tidy(() => {
      const [query, value, key = value] = inputs as [Tensor, Tensor, Tensor?];
      const weights = softmax(this.scores(query, key));
      const kept = training === true && this.#dropout > 0 ? dropout(weights, this.#dropout) : weights;
      return matMul(kept, value);
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.args as serialization.ConfigDict) };
  }
}

/** Keras' `Attention`: by the products of queries and keys. */
export class Attention extends DotOrAdditive {
  static readonly className = "Attention";

  override build(inputShape: LayerShape | LayerShape[]): void {
    if (this.args["scoreMode"] === "concat")
      throw new Error("the score mode 'concat'; 'dot' and AdditiveAttention are there");
    if (this.args["useScale"] === true) this.scale = this.addOwnWeight("scale", [], {}, "ones");
    super.build(inputShape);
  }

  protected override scores(query: Tensor, key: Tensor): Tensor {
    const products = matMul(query, key, false, true);
    return this.scale === undefined ? products : mul(products, this.scale.read());
  }
}

/** Keras' `AdditiveAttention`: by the sums over `tanh(query + key)`. */
export class AdditiveAttention extends DotOrAdditive {
  static readonly className = "AdditiveAttention";

  override build(inputShape: LayerShape | LayerShape[]): void {
    const [query] = inputShape as [LayerShape];
    if (this.args["useScale"] !== false)
      this.scale = this.addOwnWeight("scale", [query.at(-1) as number], {}, "glorotUniform");
    super.build(inputShape);
  }

  protected override scores(query: Tensor, key: Tensor): Tensor {
    const added = tanh(add(expandDims(query, -2), expandDims(key, -3)));
    return sum(this.scale === undefined ? added : mul(added, this.scale.read()), -1);
  }
}

/**
 * Keras' `MultiHeadAttention` along the axis before the last: queries, keys and values projected into heads, attended to, and projected back. Its inputs
 * are a query, a value and perhaps a key.
 */
export class MultiHeadAttention extends OwnLayer {
  static readonly className = "MultiHeadAttention";
  readonly #args: Args;
  readonly #heads: number;
  readonly #keyDim: number;
  readonly #valueDim: number;
  #weights: Projections | undefined;

  constructor(args: Args) {
    super(args);
    this.#args = args;
    this.#heads = args["numHeads"] as number;
    this.#keyDim = args["keyDim"] as number;
    this.#valueDim = (args["valueDim"] as number | null | undefined) ?? this.#keyDim;
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    const axes = this.#args["attentionAxes"];
    if (axes != null && String(axes) !== "1")
      throw new Error("attention axes of one's own; those by default are there");
    const [query, value, key = value] = inputShape as [LayerShape, LayerShape, LayerShape?];
    const [heads, keyDim, valueDim] = [this.#heads, this.#keyDim, this.#valueDim];
    const width = this.#widthOf(query);
    this.#weights = {
      query: this.#project("query", [query.at(-1) as number, heads, keyDim], [heads, keyDim]),
      key: this.#project("key", [key.at(-1) as number, heads, keyDim], [heads, keyDim]),
      value: this.#project("value", [value.at(-1) as number, heads, valueDim], [heads, valueDim]),
      output: this.#project("attention_output", [heads, valueDim, width], [width]),
    };
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const [query] = inputShape as [LayerShape];
    const width = this.#widthOf(query);
    return [...query.slice(0, -1), width];
  }

  override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor {
    return tidy(() => {
      const [query, value, key = value] = inputs as [Tensor, Tensor, Tensor?];
      const of = this.#weights as Projections;
      const q = mul(project(query, of.query), 1 / Math.sqrt(this.#keyDim));
      const scores = contract("bqhd,bkhd->bhqk", q, project(key, of.key));
      const weights = softmax(scores);
      const rate = (this.#args["dropout"] as number | undefined) ?? 0;
      const kept = training === true && rate > 0 ? dropout(weights, rate) : weights;
      const attended = contract("bhqk,bkhd->bqhd", kept, project(value, of.value));
      const out = contract("bqhd,hdo->bqo", attended, of.output.kernel.read());
      return of.output.bias === undefined ? out : add(out, of.output.bias.read());
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as serialization.ConfigDict) };
  }

  #widthOf(query: LayerShape): number {
    const [width] = [this.#args["outputShape"]].flat() as (number | null | undefined)[];
    return width ?? (query.at(-1) as number);
  }

  #project(name: string, kernel: number[], bias: number[]): Projection {
    const { kernelInitializer, kernelRegularizer, kernelConstraint } = this.#args;
    const { biasInitializer, biasRegularizer, biasConstraint, useBias } = this.#args;
    const options = { initializer: kernelInitializer, regularizer: kernelRegularizer, constraint: kernelConstraint };
    const biasOptions = { initializer: biasInitializer, regularizer: biasRegularizer, constraint: biasConstraint };
    return {
      kernel: this.addOwnWeight(`${name}/kernel`, kernel, options, "glorotUniform"),
      bias: useBias === false ? undefined : this.addOwnWeight(`${name}/bias`, bias, biasOptions, "zeros"),
    };
  }
}

type Projections = Readonly<Record<"query" | "key" | "value" | "output", Projection>>;

interface Projection {
  readonly kernel: LayerVariable;
  readonly bias: LayerVariable | undefined;
}

/** `[batch, length, width]` into heads: `[batch, length, heads, dim]`. */
function project(x: Tensor, { kernel, bias }: Projection): Tensor {
  const projected = contract("bld,dhe->blhe", x, kernel.read());
  return bias === undefined ? projected : add(projected, bias.read());
}
