import { type serialization, slice, type Tensor, tidy, transpose } from "@tensorflow/tfjs-core";
import { operationNamed } from "../operations/operations.js";
import { channelOrders, firstInput, firstShape, type LayerShape, OwnLayer } from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;
type Size = readonly [height: number, width: number];

/** Returns `[batch, height, width, channels]` in another size. */
export const resized = (x: Tensor, size: Size, method: unknown): Tensor =>
  operationNamed("resize").run({ x, size, method }) as Tensor;

/** Crops the middle of `[batch, height, width, channels]`. */
function center(x: Tensor, [height, width]: Size): Tensor {
  const [batch, tall, wide, channels] = x.shape as [number, number, number, number];
  const [top, left] = [Math.floor((tall - height) / 2), Math.floor((wide - width) / 2)];
  return slice(x, [0, top, left, 0], [batch, height, width, channels]);
}

/** Resizes the largest central part of `[batch, height, width, channels]` with the aspect ratio of `size`. */
export function resizeToFill(x: Tensor, size: Size, method: unknown = "bilinear"): Tensor {
  const [, tall, wide] = x.shape as [number, number, number];
  const height = Math.min(tall, Math.floor((wide * size[0]) / size[1]));
  const width = Math.min(wide, Math.floor((tall * size[1]) / size[0]));
  return resized(center(x, [height, width]), size, method);
}

/**
 * A layer with a given output height and width. The layers of tfjs-layers take one image instead of a batch, and use
 * other interpolation weights.
 */
abstract class ToSize extends OwnLayer {
  protected readonly args: Args;

  constructor(args: Args) {
    super(args);
    this.args = args;
  }

  protected get size(): Size {
    return [this.args["height"] as number, this.args["width"] as number];
  }

  protected abstract change(x: Tensor): Tensor;

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const [batch, second, , last] = firstShape(inputShape) as [number | null, number, number, number];
    return this.args["dataFormat"] === "channelsFirst" ? [batch, second, ...this.size] : [batch, ...this.size, last];
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const x = firstInput(inputs);
    const { toLast, toFirst } = channelOrders(4);
    return tidy(() =>
      this.args["dataFormat"] === "channelsFirst"
        ? transpose(this.change(transpose(x, toLast)), toFirst)
        : this.change(x),
    );
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.args as serialization.ConfigDict) };
  }
}

/** Keras' `Resizing`. */
export class Resizing extends ToSize {
  static readonly className = "Resizing";

  override build(inputShape: LayerShape | LayerShape[]): void {
    const { interpolation, padToAspectRatio } = this.args;
    if (interpolation !== undefined && !/^(bilinear|nearest)$/.test(String(interpolation)))
      throw new Error(`interpolation '${String(interpolation)}' is not supported; use 'bilinear' or 'nearest'`);
    if (padToAspectRatio === true)
      throw new Error("padding to the aspect ratio (pad_to_aspect_ratio: true) is not supported");
    super.build(inputShape);
  }

  protected override change(x: Tensor): Tensor {
    const { interpolation, cropToAspectRatio } = this.args;
    return cropToAspectRatio === true
      ? resizeToFill(x, this.size, interpolation)
      : resized(x, this.size, interpolation);
  }
}

/** Keras' `CenterCrop`: the middle of an image, or the resized image if it is too small. */
export class CenterCrop extends ToSize {
  static readonly className = "CenterCrop";

  protected override change(x: Tensor): Tensor {
    const [height, width] = this.size;
    const isLarge = (x.shape[1] as number) >= height && (x.shape[2] as number) >= width;
    return isLarge ? center(x, this.size) : resizeToFill(x, this.size);
  }
}
