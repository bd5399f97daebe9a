import { ones, type Tensor, zeros } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { derivingOnce, type LayerClass } from "./layer-class.js";

/** The two members of tfjs-layers' BatchNormalization that are null without `scale` or `center`. */
interface Affine {
  gamma: { read(): Tensor } | null;
  beta: { read(): Tensor } | null;
  readonly movingMean: LayerVariable;
}

/**
 * tfjs-layers' own BatchNormalization, able to train with `scale: false` or `center: false` (Inception, Xception): stock 4.22 reads both
 * weights in training and dies of the missing one, and the gradient of the op below of one that it is not given. Ones and zeros stand for them.
 */
export const withOptionalAffine: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class BatchNormalization extends Base {
      override call(inputs: Tensor | Tensor[], options: Record<string, unknown>): Tensor | Tensor[] {
        const affine = this as unknown as Affine;
        const { gamma, beta, movingMean } = affine;
        const shape = movingMean.shape as number[];
        affine.gamma = gamma ?? { read: () => ones(shape) };
        affine.beta = beta ?? { read: () => zeros(shape) };
        try {
          return super.call(inputs, options);
        } finally {
          affine.gamma = gamma;
          affine.beta = beta;
        }
      }
    },
);
