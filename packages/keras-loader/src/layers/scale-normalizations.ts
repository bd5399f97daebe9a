import {
  add,
  div,
  maximum,
  mean,
  mul,
  reshape,
  rsqrt,
  type serialization,
  sqrt,
  square,
  sub,
  sum,
  type Tensor,
  tidy,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { firstInput, firstShape, type LayerShape, OwnLayer } from "./own-layer.js";

const axesOf = (axis: unknown, rank: number): number[] =>
  ([axis].flat() as number[]).map((each) => (each < 0 ? each + rank : each));

/** Keras' `GroupNormalization`: normalizes each sample over groups of channels, then scales and shifts by channel. */
export class GroupNormalization extends OwnLayer {
  static readonly className = "GroupNormalization";
  readonly #args: Readonly<Record<string, unknown>>;
  #gamma: LayerVariable | undefined;
  #beta: LayerVariable | undefined;

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args);
    this.#args = args;
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    const shape = firstShape(inputShape);
    const [axis] = axesOf(this.#args["axis"] ?? -1, shape.length) as [number];
    const channels = shape[axis] as number;
    const groups = this.#groups(channels);
    if (channels % groups !== 0) throw new Error(`${groups} groups do not divide ${channels} channels`);
    const { gammaInitializer, gammaRegularizer, gammaConstraint } = this.#args;
    const { betaInitializer, betaRegularizer, betaConstraint } = this.#args;
    if (this.#args["scale"] !== false) {
      const options = { initializer: gammaInitializer, regularizer: gammaRegularizer, constraint: gammaConstraint };
      this.#gamma = this.addOwnWeight("gamma", [channels], options, "ones");
    }
    if (this.#args["center"] !== false) {
      const options = { initializer: betaInitializer, regularizer: betaRegularizer, constraint: betaConstraint };
      this.#beta = this.addOwnWeight("beta", [channels], options, "zeros");
    }
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      const [axis] = axesOf(this.#args["axis"] ?? -1, x.rank) as [number];
      const channels = x.shape[axis] as number;
      const groups = this.#groups(channels);
      const split = [...x.shape.slice(0, axis), groups, channels / groups, ...x.shape.slice(axis + 1)];
      const grouped = reshape(x, split);
      const axes = split.flatMap((_, i) => (i === 0 || i === axis ? [] : [i]));
      const center = mean(grouped, axes, true);
      const variance = mean(square(sub(grouped, center)), axes, true);
      const scale = rsqrt(add(variance, (this.#args["epsilon"] as number | undefined) ?? 1e-3));
      const normal = reshape(mul(sub(grouped, center), scale), x.shape);
      const byChannel = x.shape.map((size, i) => (i === axis ? size : 1));
      const scaled = this.#gamma === undefined ? normal : mul(normal, reshape(this.#gamma.read(), byChannel));
      return this.#beta === undefined ? scaled : add(scaled, reshape(this.#beta.read(), byChannel));
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as serialization.ConfigDict) };
  }

  #groups(channels: number): number {
    const groups = (this.#args["groups"] as number | undefined) ?? 32;
    return groups === -1 ? channels : groups;
  }
}

/** Keras' `UnitNormalization`: scales each sample to length 1 along an axis. */
export class UnitNormalization extends OwnLayer {
  static readonly className = "UnitNormalization";
  readonly #axis: unknown;

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args);
    this.#axis = args["axis"] ?? -1;
    this.supportsMasking = true;
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      return div(x, sqrt(maximum(sum(square(x), axesOf(this.#axis, x.rank), true), 1e-12)));
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), axis: this.#axis as number };
  }
}

/** Keras' `RMSNormalization`: divides by the root of the mean square along an axis, then scales. */
export class RMSNormalization extends OwnLayer {
  static readonly className = "RMSNormalization";
  readonly #axis: unknown;
  readonly #epsilon: number;
  #scale: LayerVariable | undefined;

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args);
    this.#axis = args["axis"] ?? -1;
    this.#epsilon = (args["epsilon"] as number | undefined) ?? 1e-6;
    this.supportsMasking = true;
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    const shape = firstShape(inputShape);
    const sizes = axesOf(this.#axis, shape.length).map((axis) => shape[axis] as number);
    this.#scale = this.addOwnWeight("scale", sizes, {}, "ones");
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      const axes = axesOf(this.#axis, x.rank);
      const byAxis = x.shape.map((size, i) => (axes.includes(i) ? size : 1));
      const scale = rsqrt(add(mean(square(x), axes, true), this.#epsilon));
      return mul(mul(x, scale), reshape((this.#scale as LayerVariable).read(), byAxis));
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), axis: this.#axis as number, epsilon: this.#epsilon };
  }
}
