import {
  concat,
  expandDims,
  pad,
  reshape,
  type serialization,
  slice,
  type Tensor,
  tidy,
  transpose,
} from "@tensorflow/tfjs-core";
import { operationNamed } from "../operations/operations.js";
import { channelOrders, firstInput, firstShape, type LayerShape, OwnLayer, sizesOf } from "./own-layer.js";

type Sides = readonly (readonly [number, number])[];

/** Cropping or padding at both sides of each axis between the batch and the channels. */
abstract class AtSides extends OwnLayer {
  protected readonly sides: Sides;
  readonly #field: string;
  readonly #isFirst: boolean;

  constructor(args: Readonly<Record<string, unknown>>, field: string, count: number) {
    super(args);
    this.#field = field;
    this.#isFirst = args["dataFormat"] === "channelsFirst";
    const given = args[field];
    const isPair = count === 1 && Array.isArray(given) && given.length === 2;
    const list: unknown[] = isPair ? [given] : Array.isArray(given) ? given : sizesOf(given, count);
    this.sides = list.map((side) => (Array.isArray(side) ? (side as [number, number]) : [Number(side), Number(side)]));
  }

  /** Amounts by axis of the input. */
  protected get byAxis(): Sides {
    const none = [0, 0] as const;
    return this.#isFirst ? [none, none, ...this.sides] : [none, ...this.sides, none];
  }

  protected abstract readonly sign: 1 | -1;

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    return firstShape(inputShape).map((size, axis) => {
      const [before, after] = this.byAxis[axis] as readonly [number, number];
      return size === null ? null : size + this.sign * (before + after);
    });
  }

  override getConfig(): serialization.ConfigDict {
    const own = { [this.#field]: this.sides.map((side) => [...side]) };
    return { ...super.getConfig(), ...own, ...(this.#isFirst && { dataFormat: "channelsFirst" }) };
  }
}

abstract class Padding extends AtSides {
  protected readonly sign = 1;

  override call(inputs: Tensor | Tensor[]): Tensor {
    return pad(firstInput(inputs), this.byAxis as [number, number][]);
  }
}

abstract class Cropping extends AtSides {
  protected readonly sign = -1;

  override call(inputs: Tensor | Tensor[]): Tensor {
    const x = firstInput(inputs);
    const sizes = this.computeOutputShape(x.shape) as number[];
    return slice(
      x,
      this.byAxis.map(([before]) => before),
      sizes,
    );
  }
}

/** Repeats each element along the axes between the batch and the channels. */
abstract class UpSampling extends OwnLayer {
  protected readonly factors: number[];
  protected readonly isFirst: boolean;

  constructor(args: Readonly<Record<string, unknown>>, count: number) {
    super(args);
    this.factors = sizesOf(args["size"], count, 2);
    this.isFirst = args["dataFormat"] === "channelsFirst";
  }

  get #byAxis(): number[] {
    return this.isFirst ? [1, 1, ...this.factors] : [1, ...this.factors, 1];
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    return firstShape(inputShape).map((size, axis) => (size === null ? null : size * (this.#byAxis[axis] as number)));
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => this.#byAxis.reduce<Tensor>(repeatAxis, firstInput(inputs)));
  }

  override getConfig(): serialization.ConfigDict {
    const own = { size: [...this.factors] };
    return { ...super.getConfig(), ...own, ...(this.isFirst && { dataFormat: "channelsFirst" }) };
  }
}

function repeatAxis(x: Tensor, times: number, axis: number): Tensor {
  if (times === 1) return x;
  const one = expandDims(x, axis + 1);
  const repeated = concat(
    Array.from({ length: times }, () => one),
    axis + 1,
  );
  return reshape(
    repeated,
    x.shape.map((size, i) => (i === axis ? size * times : size)),
  );
}

/** Keras' `ZeroPadding1D`. */
export class ZeroPadding1D extends Padding {
  static readonly className = "ZeroPadding1D";

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args, "padding", 1);
  }
}

/** Keras' `ZeroPadding3D`. */
export class ZeroPadding3D extends Padding {
  static readonly className = "ZeroPadding3D";

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args, "padding", 3);
  }
}

/** Keras' `Cropping1D`. */
export class Cropping1D extends Cropping {
  static readonly className = "Cropping1D";

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args, "cropping", 1);
  }
}

/** Keras' `Cropping3D`. */
export class Cropping3D extends Cropping {
  static readonly className = "Cropping3D";

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args, "cropping", 3);
  }
}

/** Keras' `UpSampling1D`. */
export class UpSampling1D extends UpSampling {
  static readonly className = "UpSampling1D";

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args, 1);
  }
}

/** Keras' `UpSampling3D`. */
export class UpSampling3D extends UpSampling {
  static readonly className = "UpSampling3D";

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args, 3);
  }
}

/**
 * Keras' `UpSampling2D`, including interpolation between neighbours. tfjs-layers 4.22 uses other weights, and its
 * gradients differ for factors other than 2.
 */
export class UpSampling2D extends UpSampling {
  static readonly className = "UpSampling2D";
  readonly #interpolation: string;

  constructor(args: Readonly<Record<string, unknown>> = {}) {
    super(args, 2);
    this.#interpolation = (args["interpolation"] as string | undefined) ?? "nearest";
    if (!/^(nearest|bilinear)$/.test(this.#interpolation))
      throw new Error(`interpolation '${this.#interpolation}' is not supported; use 'nearest' or 'bilinear'`);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    if (this.#interpolation === "nearest") return super.call(inputs);
    return tidy(() => {
      const x = firstInput(inputs);
      const { toLast, toFirst } = channelOrders(4);
      const last = this.isFirst ? transpose(x, toLast) : x;
      const [height, width] = this.factors as [number, number];
      const size = [(last.shape[1] as number) * height, (last.shape[2] as number) * width];
      const resized = operationNamed("resize").run({ x: last, size }) as Tensor;
      return this.isFirst ? transpose(resized, toFirst) : resized;
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), interpolation: this.#interpolation };
  }
}
