import { ones, reshape, type Tensor, tidy, zeros } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { derivingOnce, type LayerClass } from "./layer-class.js";
import { firstInput } from "./own-layer.js";

/**
 * Members of tfjs-layers' BatchNormalization that are read here. `gamma` and `beta` are null without `scale` or
 * `center`.
 */
interface Stock {
  axis: number;
  gamma: { read(): Tensor } | null;
  beta: { read(): Tensor } | null;
  readonly movingMean: LayerVariable;
}

/** tfjs-layers 4.22 has no batch normalization for more dimensions. */
const mostDimensions = 4;

/**
 * Makes BatchNormalization of tfjs-layers trainable with `scale: false` or `center: false` (Inception, Xception).
 * tfjs-layers 4.22 reads both weights in training and fails if one is missing. The gradient of its op does the same.
 * Here ones and zeros replace them. tfjs-layers does not support volumes. They are normalized as images, since the
 * statistics are the same.
 */
export const withOptionalAffine: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class BatchNormalization extends Base {
      override call(inputs: Tensor | Tensor[], options: Record<string, unknown>): Tensor | Tensor[] {
        const x = firstInput(inputs);
        if (x.rank <= mostDimensions) return this.#withAffine(() => super.call(inputs, options));
        return tidy(() =>
          reshape(
            this.#asImages(x, (images) => super.call(images, options)),
            x.shape,
          ),
        );
      }

      /** Merges the dimensions between batch and channels, except for the first, into one. */
      #asImages(x: Tensor, call: (images: Tensor) => Tensor | Tensor[]): Tensor {
        const stock = this as unknown as Stock;
        const { axis } = stock;
        const isLast = axis === -1 || axis === x.rank - 1;
        const middle = isLast ? x.shape.slice(1, -1) : x.shape.slice(axis + 1);
        const channels = x.shape.at(axis) as number;
        if (!isLast && axis !== 1)
          throw new Error(`axis ${axis} of ${x.rank} dimensions is not supported; use the second or the last`);
        const places = middle.reduce((all, size) => all * size, 1);
        const sizes = isLast ? [x.shape[0], places, 1, channels] : [x.shape[0], channels, places, 1];
        stock.axis = isLast ? -1 : 1;
        try {
          return firstInput(this.#withAffine(() => call(reshape(x, sizes as number[]))));
        } finally {
          stock.axis = axis;
        }
      }

      #withAffine<T>(call: () => T): T {
        const stock = this as unknown as Stock;
        const { gamma, beta, movingMean } = stock;
        const shape = movingMean.shape as number[];
        stock.gamma = gamma ?? { read: () => ones(shape) };
        stock.beta = beta ?? { read: () => zeros(shape) };
        try {
          return call();
        } finally {
          stock.gamma = gamma;
          stock.beta = beta;
        }
      }
    },
);
