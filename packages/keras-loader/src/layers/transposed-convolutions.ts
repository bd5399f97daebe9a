import {
  add,
  conv2dTranspose,
  conv3d,
  pad,
  reshape,
  reverse,
  slice,
  type Tensor,
  tidy,
  transpose,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { derivingOnce, type LayerClass } from "./layer-class.js";
import { channelOrders, firstInput, firstShape, type LayerShape, sizesOf } from "./own-layer.js";

/** Members of tfjs-layers' transposed convolutions that are read here. */
interface Transposed {
  readonly filters: number;
  readonly kernelSize: number[];
  readonly strides: number[];
  readonly padding: "same" | "valid";
  readonly dataFormat: string;
  readonly activation: { apply(x: Tensor): Tensor } | null;
  readonly kernel: LayerVariable;
  readonly bias: LayerVariable | null;
}

/**
 * Returns the length of an axis after a transposed convolution. A negative `outputPadding` means that Keras chooses it.
 */
export function transposedSize(
  size: number,
  kernel: number,
  padding: string,
  stride: number,
  outputPadding = -1,
): number {
  if (outputPadding < 0) return size * stride + (padding === "same" ? 0 : Math.max(kernel - stride, 0));
  return (size - 1) * stride + kernel - 2 * (padding === "same" ? Math.floor(kernel / 2) : 0) + outputPadding;
}

/**
 * Adds Keras' output padding, which tfjs-layers 4.22 ignores, to `Conv2DTranspose` and `Conv3DTranspose`. The
 * three-dimensional one also gets a gradient, which TensorFlow.js lacks. It runs as a convolution of the input with
 * zeros inserted, and needs a copy as large as the output for each input channel.
 */
export const withOutputPadding: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class TransposedConvolution extends Base {
      readonly outputPadding: number[];

      constructor(config: object) {
        super(config);
        const { outputPadding } = config as { readonly outputPadding?: number | number[] | null };
        this.outputPadding = sizesOf(outputPadding, (this as unknown as Transposed).strides.length, -1);
      }

      override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
        const self = this as unknown as Transposed;
        const [batch, ...rest] = firstShape(inputShape);
        const isFirst = self.dataFormat === "channelsFirst";
        const space = (isFirst ? rest.slice(1) : rest.slice(0, -1)).map((size, i) =>
          size === null ? null : this.#sizeOf(size, i),
        );
        return [batch as number | null, ...(isFirst ? [self.filters, ...space] : [...space, self.filters])];
      }

      override call(inputs: Tensor | Tensor[]): Tensor {
        const self = this as unknown as Transposed;
        return tidy(() => {
          const x = firstInput(inputs);
          const isFirst = self.dataFormat === "channelsFirst";
          const { toLast, toFirst } = channelOrders(x.rank);
          const last = isFirst ? transpose(x, toLast) : x;
          const sizes = last.shape.slice(1, -1).map((size, i) => this.#sizeOf(size, i));
          const spread =
            sizes.length === 3
              ? spread3d(last, self, sizes)
              : conv2dTranspose(
                  last as never,
                  self.kernel.read() as never,
                  [last.shape[0] as number, ...sizes, self.filters] as never,
                  self.strides as never,
                  self.padding,
                );
          const biased = self.bias === null ? spread : add(spread, self.bias.read());
          const active = self.activation === null ? biased : self.activation.apply(biased);
          return isFirst ? transpose(active, toFirst) : active;
        });
      }

      override getConfig(): ReturnType<InstanceType<LayerClass>["getConfig"]> {
        const given = this.outputPadding.every((each) => each >= 0) ? this.outputPadding : null;
        return { ...super.getConfig(), outputPadding: given };
      }

      #sizeOf(size: number, axis: number): number {
        const { kernelSize, strides, padding } = this as unknown as Transposed;
        const [kernel, stride] = [kernelSize[axis] as number, strides[axis] as number];
        return transposedSize(size, kernel, padding, stride, this.outputPadding[axis]);
      }
    },
);

/** Convolves the input, with zeros inserted between its places, with the reversed kernel. */
function spread3d(x: Tensor, { kernel, kernelSize, strides }: Transposed, sizes: readonly number[]): Tensor {
  let spread = x;
  sizes.forEach((wanted, i) => {
    const [axis, size, stride] = [i + 1, kernelSize[i] as number, strides[i] as number];
    const length = spread.shape[axis] as number;
    const before = size - 1 - Math.floor(Math.max((length - 1) * stride + size - wanted, 0) / 2);
    const after = wanted + size - 1 - before - length * stride;
    const shape = [...spread.shape.slice(0, axis), length * stride, ...spread.shape.slice(axis + 1)];
    const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1);
    const apart = reshape(spread, [outer, length, 1, -1]);
    const zeros = pad(apart, [[0, 0], [0, 0], [0, stride - 1], [0, 0]]); // biome-ignore format: one axis each
    const edges = shape.map((_, other): [number, number] => (other === axis ? [before, Math.max(after, 0)] : [0, 0]));
    const padded = pad(reshape(zeros, shape), edges);
    const cut = padded.shape.map((each, other) => (other === axis ? each + Math.min(after, 0) : each));
    spread = after < 0 ? slice(padded, padded.shape.map(() => 0), cut) : padded; // biome-ignore format: one line
  });
  const turned = transpose(reverse(kernel.read(), [0, 1, 2]), [0, 1, 2, 4, 3]);
  return conv3d(spread as never, turned as never, 1, "valid");
}
