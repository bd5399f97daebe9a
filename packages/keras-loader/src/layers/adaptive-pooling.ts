import {
  argMax,
  cast,
  concat,
  customGrad,
  type GradSaveFunc,
  max,
  mean,
  mul,
  oneHot,
  type serialization,
  slice,
  type Tensor,
  tidy,
  transpose,
} from "@tensorflow/tfjs-core";
import { channelOrders, firstInput, firstShape, type LayerShape, OwnLayer, sizesOf } from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/** Keras 3's pooling to a given output size: along each spatial axis in turn, over windows of about equal size. */
abstract class AdaptivePooling extends OwnLayer {
  readonly #sizes: number[];
  readonly #isFirst: boolean;
  protected abstract readonly reduce: (x: Tensor, axis: number) => Tensor;

  constructor(args: Args, rank: number) {
    super(args);
    this.#sizes = sizesOf(args["outputSize"], rank);
    this.#isFirst = args["dataFormat"] === "channelsFirst";
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const [batch, ...rest] = firstShape(inputShape) as [number | null, ...LayerShape];
    return this.#isFirst ? [batch, rest[0] as number, ...this.#sizes] : [batch, ...this.#sizes, rest.at(-1) as number];
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      const { toLast, toFirst } = channelOrders(x.rank);
      const last = this.#isFirst ? transpose(x, toLast) : x;
      const pooled = this.#sizes.reduce((y, size, i) => this.#along(y, i + 1, size), last);
      return this.#isFirst ? transpose(pooled, toFirst) : pooled;
    });
  }

  override getConfig(): serialization.ConfigDict {
    return {
      ...super.getConfig(),
      outputSize: this.#sizes,
      dataFormat: this.#isFirst ? "channelsFirst" : "channelsLast",
    };
  }

  #along(x: Tensor, axis: number, size: number): Tensor {
    const length = x.shape[axis] as number;
    const windows = Array.from({ length: size }, (_, i) => {
      const begin = Math.floor((i * length) / size);
      const end = Math.ceil(((i + 1) * length) / size);
      const from = x.shape.map((_size, other) => (other === axis ? begin : 0));
      const sizes = x.shape.map((each, other) => (other === axis ? end - begin : each));
      return this.reduce(slice(x, from, sizes), axis);
    });
    return concat(windows, axis);
  }
}

abstract class AdaptiveAveragePooling extends AdaptivePooling {
  protected override readonly reduce = (x: Tensor, axis: number): Tensor => mean(x, axis, true);
}

/** The largest element along an axis. The first of equal ones gets the gradient, as in pooling. */
function firstMax(x: Tensor, axis: number): Tensor {
  const order = x.shape.map((_, i) => (i < axis ? i : i === axis ? x.rank - 1 : i - 1));
  const run = customGrad((...args) => {
    const [input, save] = args as unknown as [Tensor, GradSaveFunc];
    save([input]);
    const gradFunc = (dy: Tensor, [saved]: Tensor[]): Tensor => {
      const isFirst = oneHot(argMax(saved as Tensor, axis), x.shape[axis] as number);
      return mul(dy, cast(transpose(isFirst, order), "float32"));
    };
    return { value: max(input, axis, true), gradFunc };
  });
  return run(x);
}

abstract class AdaptiveMaxPooling extends AdaptivePooling {
  protected override readonly reduce: (x: Tensor, axis: number) => Tensor = firstMax;
}

/** Keras 3's `AdaptiveAveragePooling1D`. */
export class AdaptiveAveragePooling1D extends AdaptiveAveragePooling {
  static readonly className = "AdaptiveAveragePooling1D";
  constructor(args: Args) {
    super(args, 1);
  }
}

/** Keras 3's `AdaptiveAveragePooling2D`. */
export class AdaptiveAveragePooling2D extends AdaptiveAveragePooling {
  static readonly className = "AdaptiveAveragePooling2D";
  constructor(args: Args) {
    super(args, 2);
  }
}

/** Keras 3's `AdaptiveAveragePooling3D`. */
export class AdaptiveAveragePooling3D extends AdaptiveAveragePooling {
  static readonly className = "AdaptiveAveragePooling3D";
  constructor(args: Args) {
    super(args, 3);
  }
}

/** Keras 3's `AdaptiveMaxPooling1D`. */
export class AdaptiveMaxPooling1D extends AdaptiveMaxPooling {
  static readonly className = "AdaptiveMaxPooling1D";
  constructor(args: Args) {
    super(args, 1);
  }
}

/** Keras 3's `AdaptiveMaxPooling2D`. */
export class AdaptiveMaxPooling2D extends AdaptiveMaxPooling {
  static readonly className = "AdaptiveMaxPooling2D";
  constructor(args: Args) {
    super(args, 2);
  }
}

/** Keras 3's `AdaptiveMaxPooling3D`. */
export class AdaptiveMaxPooling3D extends AdaptiveMaxPooling {
  static readonly className = "AdaptiveMaxPooling3D";
  // In TensorFlow's pooling of volumes, each of equal elements gets the gradient.
  protected override readonly reduce = (x: Tensor, axis: number): Tensor => max(x, axis, true);

  constructor(args: Args) {
    super(args, 3);
  }
}
