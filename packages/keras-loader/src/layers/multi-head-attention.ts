import {
  add,
  cast,
  concat,
  dropout,
  expandDims,
  mul,
  reshape,
  type serialization,
  softmax,
  type Tensor,
  tidy,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { contract } from "../operations/contract.js";
import { type InputIndices, spreadInputs, spreadShapes } from "./attention-inputs.js";
import { type AttentionCall, asNumbers, both, causal, hideMasked, type Mask } from "./attention-masks.js";
import { type LayerShape, OwnLayer } from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/** Inputs of multi-head attention: a query, a value, and optionally a key and a mask, in the order of `inputRoles`. */
interface Roles<T> {
  readonly query: T;
  readonly value: T;
  readonly key: T;
  readonly mask: T | undefined;
}

/**
 * Keras' `MultiHeadAttention` along the second to last axis. Queries, keys and values are projected into heads,
 * attention runs in each, and the result is projected back.
 */
export class MultiHeadAttention extends OwnLayer {
  static readonly className: string = "MultiHeadAttention";
  protected readonly args: Args;
  #weights: Projections | undefined;

  constructor(args: Args) {
    super(args);
    this.args = args;
  }

  protected get heads(): number {
    return this.args["numHeads"] as number;
  }

  /** Number of heads for keys and values. Each serves the same number of query heads. */
  protected get keyHeads(): number {
    return this.heads;
  }

  protected get keyDim(): number {
    return this.args["keyDim"] as number;
  }

  protected get valueDim(): number {
    return (this.args["valueDim"] as number | null | undefined) ?? this.keyDim;
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    const axes = this.args["attentionAxes"];
    if (axes != null && String(axes) !== "1")
      throw new Error("custom attention axes are not supported; use the default");
    if (this.args["useGate"] === true) throw new Error("a gate (use_gate: true) is not supported");
    if (this.args["slidingWindow"] != null) throw new Error("a sliding window is not supported");
    const { query, value, key } = this.#byRole(spreadShapes(inputShape, this.#indices));
    const { heads, keyHeads, keyDim, valueDim } = this;
    const width = this.#widthOf(query);
    this.#weights = {
      query: this.#project("query", [query.at(-1) as number, heads, keyDim], [heads, keyDim]),
      key: this.#project("key", [key.at(-1) as number, keyHeads, keyDim], [keyHeads, keyDim]),
      value: this.#project("value", [value.at(-1) as number, keyHeads, valueDim], [keyHeads, valueDim]),
      output: this.#project("attention_output", [heads, valueDim, width], [width]),
    };
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape | LayerShape[] {
    const { query, key } = this.#byRole(spreadShapes(inputShape, this.#indices));
    const out = [...query.slice(0, -1), this.#widthOf(query)];
    return this.#returnsScores
      ? [out, [query[0] as number | null, this.heads, ...query.slice(1, -1), key[1] as number | null]]
      : out;
  }

  override call(inputs: Tensor | Tensor[], { training, mask = [] }: AttentionCall = {}): Tensor | Tensor[] {
    return tidy(() => {
      const { query, value, key, mask: given } = this.#byRole(spreadInputs(inputs as Tensor[], this.#indices));
      const of = this.#weights as Projections;
      const q = mul(project(query, of.query), 1 / Math.sqrt(this.keyDim));
      const scores = contract("bqhd,bkhd->bhqk", q, this.#toHeads(project(key, of.key)));
      const kept = this.#keptOf(mask, given, scores.shape);
      const ofHeads = kept === undefined ? undefined : expandDims(kept, 1);
      const weights = this.#weigh(scores, ofHeads);
      const rate = (this.args["dropout"] as number | undefined) ?? 0;
      const used = training === true && rate > 0 ? dropout(weights, rate) : weights;
      const attended = contract("bhqk,bkhd->bqhd", used, this.#toHeads(project(value, of.value)));
      const out = contract("bqhd,hdo->bqo", attended, of.output.kernel.read());
      const biased = of.output.bias === undefined ? out : add(out, of.output.bias.read());
      return this.#returnsScores ? [biased, weights] : biased;
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.args as serialization.ConfigDict) };
  }

  /**
   * If Keras 3 has its own op for attention, a low number replaces a masked score, which then has no gradient.
   * Otherwise the low number is added to the score.
   */
  #weigh(scores: Tensor, mask: Mask): Tensor {
    const isOfKeras3 = "seed" in this.args;
    const isReplaced = mask !== undefined && isOfKeras3 && !this.args["dropout"] && !this.#returnsScores;
    return softmax(hideMasked(isReplaced ? mul(scores, mask) : scores, mask));
  }

  get #indices(): InputIndices {
    return this.args["inputIndices"] as InputIndices;
  }

  get #returnsScores(): boolean {
    return this.args["returnAttentionScores"] === true;
  }

  /** `[batch, from, to]`, 1 if a value is visible to a query. */
  #keptOf(masks: readonly Mask[], given: Mask, [, , from, to]: readonly number[]): Mask {
    const { query, value, key } = this.#byRole(
      [...spreadInputs(masks, this.#indices), ...Array<Mask>(4)].slice(0, 4),
      undefined,
    );
    const inOrder = this.args["useCausalMask"] === true ? causal(from as number, to as number) : undefined;
    const own = key === value ? undefined : asNumbers(key, 1);
    const attention = given === undefined ? undefined : cast(given, "float32");
    return both([asNumbers(query, -1), asNumbers(value, 1), own, inOrder, attention]);
  }

  #byRole<T>(inputs: readonly T[], otherwise?: T): Roles<T> {
    const roles = (this.args["inputRoles"] as readonly string[] | undefined) ?? ["query", "value", "key"];
    const of = (role: string): T | undefined => (roles.includes(role) ? inputs[roles.indexOf(role)] : otherwise);
    const value = of("value") as T;
    return {
      query: of("query") as T,
      value,
      key: of("key") ?? value,
      mask: of("attention_mask") ?? of("attentionMask"),
    };
  }

  #toHeads(x: Tensor): Tensor {
    const times = this.heads / this.keyHeads;
    if (times === 1) return x;
    const [batch, length, heads, dim] = x.shape as [number, number, number, number];
    const one = expandDims(x, 3);
    // The gradient of tiling supports at most four dimensions.
    return reshape(concat(Array<Tensor>(times).fill(one), 3), [batch, length, heads * times, dim]);
  }

  #widthOf(query: LayerShape): number {
    const [width] = [this.args["outputShape"]].flat() as (number | null | undefined)[];
    return width ?? (query.at(-1) as number);
  }

  #project(name: string, kernel: number[], bias: number[]): Projection {
    const { kernelInitializer, kernelRegularizer, kernelConstraint } = this.args;
    const { biasInitializer, biasRegularizer, biasConstraint, useBias } = this.args;
    const options = { initializer: kernelInitializer, regularizer: kernelRegularizer, constraint: kernelConstraint };
    const biasOptions = { initializer: biasInitializer, regularizer: biasRegularizer, constraint: biasConstraint };
    return {
      kernel: this.addOwnWeight(`${name}/kernel`, kernel, options, "glorotUniform"),
      bias: useBias === false ? undefined : this.addOwnWeight(`${name}/bias`, bias, biasOptions, "zeros"),
    };
  }
}

/** Keras 3's `GroupQueryAttention`: each head of keys and values serves several query heads. */
export class GroupQueryAttention extends MultiHeadAttention {
  static override readonly className = "GroupQueryAttention";

  protected override get heads(): number {
    return this.args["numQueryHeads"] as number;
  }

  protected override get keyHeads(): number {
    return this.args["numKeyValueHeads"] as number;
  }

  protected override get keyDim(): number {
    return this.args["headDim"] as number;
  }
}

type Projections = Readonly<Record<"query" | "key" | "value" | "output", Projection>>;

interface Projection {
  readonly kernel: LayerVariable;
  readonly bias: LayerVariable | undefined;
}

/** Projects `[batch, length, width]` into heads: `[batch, length, heads, dim]`. */
function project(x: Tensor, { kernel, bias }: Projection): Tensor {
  const projected = contract("bld,dhe->blhe", x, kernel.read());
  return bias === undefined ? projected : add(projected, bias.read());
}
