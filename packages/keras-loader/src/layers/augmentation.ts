import {
  add,
  clipByValue,
  cos,
  floor,
  mean,
  mul,
  neg,
  onesLike,
  randomUniform,
  reverse,
  type serialization,
  sin,
  slice,
  sub,
  type Tensor,
  tidy,
  transpose,
  zerosLike,
} from "@tensorflow/tfjs-core";
import { type CallOptions, channelOrders, firstInput, firstShape, type LayerShape, OwnLayer } from "./own-layer.js";
import { resized, resizeToFill } from "./resizing.js";
import { type TransformOptions, transformImages } from "./transform-images.js";

type Args = Readonly<Record<string, unknown>>;
type Range = readonly [number, number];

/** Returns a range that Keras writes as both ends, or as one number for both directions. */
function rangeOf(factor: unknown, otherwise: Range = [0, 0]): Range {
  if (typeof factor === "number") return [-factor, factor];
  return Array.isArray(factor) ? (factor as unknown as Range) : otherwise;
}

/** `[batch, 1]`, one random number for each sample. */
const eachSample = (x: Tensor, [low, high]: Range): Tensor => randomUniform([x.shape[0] as number, 1], low, high);

/** A layer that changes images `[batch, height, width, channels]` at random, in training only. */
abstract class Augmentation extends OwnLayer {
  protected readonly args: Args;

  constructor(args: Args = {}) {
    super(args);
    this.args = args;
  }

  protected abstract change(x: Tensor): Tensor;

  override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor {
    const x = firstInput(inputs);
    return training === true ? tidy(() => this.channelsLast(x, (last) => this.change(last))) : x;
  }

  protected channelsLast(x: Tensor, run: (x: Tensor) => Tensor): Tensor {
    if (this.args["dataFormat"] !== "channelsFirst") return run(x);
    const { toLast, toFirst } = channelOrders(4);
    return transpose(run(transpose(x, toLast)), toFirst);
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.args as serialization.ConfigDict) };
  }

  /**
   * Transforms images by `[a, b, c, d, e, f]` for each sample: the output at (x, y) is the input at (a x + b y + c, d x
   * + e y + f).
   */
  protected transform(x: Tensor, parts: readonly Tensor[]): Tensor {
    const { interpolation, fillMode, fillValue } = this.args;
    return transformImages(x, parts, {
      interpolation: (interpolation ?? "bilinear") as TransformOptions["interpolation"],
      fillMode: (fillMode ?? "reflect") as TransformOptions["fillMode"],
      fillValue: (fillValue ?? 0) as number,
    });
  }
}

/** Keras' `RandomFlip`. */
export class RandomFlip extends Augmentation {
  static readonly className = "RandomFlip";

  protected override change(x: Tensor): Tensor {
    const mode = (this.args["mode"] as string | undefined) ?? "horizontalAndVertical";
    const across = /^horizontal/.test(mode) ? maybeReversed(x, 2) : x;
    return /vertical$/i.test(mode) ? maybeReversed(across, 1) : across;
  }
}

function maybeReversed(x: Tensor, axis: number): Tensor {
  const isReversed = floor(add(randomUniform([x.shape[0] as number, 1, 1, 1]), 0.5));
  return add(mul(reverse(x, axis), isReversed), mul(x, sub(1, isReversed)));
}

/** Keras' `RandomRotation`, by fractions of a full turn. */
export class RandomRotation extends Augmentation {
  static readonly className = "RandomRotation";

  protected override change(x: Tensor): Tensor {
    const [, height, width] = x.shape as [number, number, number];
    const angle = mul(eachSample(x, rangeOf(this.args["factor"])), 2 * Math.PI);
    const [c, s] = [cos(angle), sin(angle)];
    const right = sub(width - 1, sub(mul(c, width - 1), mul(s, height - 1)));
    const down = sub(height - 1, add(mul(s, width - 1), mul(c, height - 1)));
    return this.transform(x, [c, neg(s), mul(right, 0.5), s, c, mul(down, 0.5)]);
  }
}

/** Keras' `RandomTranslation`, by fractions of the height and width. */
export class RandomTranslation extends Augmentation {
  static readonly className = "RandomTranslation";

  protected override change(x: Tensor): Tensor {
    const [, height, width] = x.shape as [number, number, number];
    const down = mul(eachSample(x, rangeOf(this.args["heightFactor"])), height);
    const right = mul(eachSample(x, rangeOf(this.args["widthFactor"])), width);
    const [zero, one] = [zerosLike(down), onesLike(down)];
    return this.transform(x, [one, zero, neg(right), zero, one, neg(down)]);
  }
}

/** Keras' `RandomZoom`. */
export class RandomZoom extends Augmentation {
  static readonly className = "RandomZoom";

  protected override change(x: Tensor): Tensor {
    const [, height, width] = x.shape as [number, number, number];
    const tall = add(1, eachSample(x, rangeOf(this.args["heightFactor"])));
    const { widthFactor } = this.args;
    const wide = widthFactor == null ? tall : add(1, eachSample(x, rangeOf(widthFactor)));
    const zero = zerosLike(tall);
    const offset = (size: number, zoom: Tensor): Tensor => mul(sub(1, zoom), (size - 1) / 2);
    return this.transform(x, [wide, zero, offset(width, wide), zero, tall, offset(height, tall)]);
  }
}

/** Keras' `RandomContrast`. */
export class RandomContrast extends Augmentation {
  static readonly className = "RandomContrast";

  protected override change(x: Tensor): Tensor {
    const factor = this.args["factor"];
    const [low, high] = typeof factor === "number" ? [factor, factor] : (factor as unknown as Range);
    const scale = randomUniform([x.shape[0] as number, 1, 1, 1], 1 - low, 1 + high);
    const center = mean(x, [1, 2], true);
    return add(mul(sub(x, center), scale), center);
  }
}

/** Keras' `RandomBrightness`. */
export class RandomBrightness extends Augmentation {
  static readonly className = "RandomBrightness";

  protected override change(x: Tensor): Tensor {
    const [from, to] = rangeOf(this.args["valueRange"], [0, 255]);
    const [low, high] = rangeOf(this.args["factor"]);
    const added = randomUniform([x.shape[0] as number, 1, 1, 1], low * (to - from), high * (to - from));
    return clipByValue(add(x, added), from, to);
  }
}

/** Keras' `RandomCrop`: a random part of the image in training, otherwise the middle, resized. */
export class RandomCrop extends Augmentation {
  static readonly className = "RandomCrop";

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const shape = firstShape(inputShape);
    const [height, width] = this.#size;
    return this.args["dataFormat"] === "channelsFirst"
      ? [shape[0] as number, shape[1] as number, height, width]
      : [shape[0] as number, height, width, shape[3] as number];
  }

  override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor {
    return tidy(() =>
      this.channelsLast(firstInput(inputs), (x) => {
        const [tall, wide] = [(x.shape[1] as number) - this.#size[0], (x.shape[2] as number) - this.#size[1]];
        return training === true && tall >= 0 && wide >= 0 ? this.change(x) : resizeToFill(x, this.#size);
      }),
    );
  }

  protected override change(x: Tensor): Tensor {
    const [height, width] = this.#size;
    const [batch, tall, wide, channels] = x.shape as [number, number, number, number];
    const top = Math.floor(Math.random() * (tall - height + 1));
    const left = Math.floor(Math.random() * (wide - width + 1));
    return slice(x, [0, top, left, 0], [batch, height, width, channels]);
  }

  get #size(): [number, number] {
    return [this.args["height"] as number, this.args["width"] as number];
  }
}

/** Keras 2's `RandomHeight` and `RandomWidth`: a random image size for each batch. */
abstract class RandomSize extends Augmentation {
  protected abstract readonly axis: 1 | 2;

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const isFirst = this.args["dataFormat"] === "channelsFirst";
    return firstShape(inputShape).map((size, i) => (i === this.axis + (isFirst ? 1 : 0) ? null : size));
  }

  protected override change(x: Tensor): Tensor {
    const [low, high] = rangeOf(this.args["factor"]);
    const size = x.shape.slice(1, 3);
    const factor = 1 + low + Math.random() * (high - low);
    size[this.axis - 1] = Math.max(1, Math.floor((size[this.axis - 1] as number) * factor));
    return resized(x, size as [number, number], this.args["interpolation"]);
  }
}

/** Keras 2's `RandomHeight`. */
export class RandomHeight extends RandomSize {
  static readonly className = "RandomHeight";
  protected readonly axis = 1;
}

/** Keras 2's `RandomWidth`. */
export class RandomWidth extends RandomSize {
  static readonly className = "RandomWidth";
  protected readonly axis = 2;
}
