import type { Tensor } from "@tensorflow/tfjs-core";
import { derivingOnce, type LayerClass } from "./layer-class.js";

/** The two members of tfjs-layers' BatchNormalization that are null without `scale` or `center`. */
interface Affine {
  gamma: { read(): Tensor | null } | null;
  beta: { read(): Tensor | null } | null;
}

const absent = { read: (): null => null };

/**
 * tfjs-layers' own BatchNormalization, able to train with `scale: false` or `center: false` (Inception, Xception): stock 4.22 reads both
 * weights in training and dies of the missing one, though the op below takes null for either.
 */
export const withOptionalAffine: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class BatchNormalization extends Base {
      override call(inputs: Tensor | Tensor[], options: Record<string, unknown>): Tensor | Tensor[] {
        if (options["training"] !== true) return super.call(inputs, options);
        const affine = this as unknown as Affine;
        const { gamma, beta } = affine;
        affine.gamma = gamma ?? absent;
        affine.beta = beta ?? absent;
        try {
          return super.call(inputs, options);
        } finally {
          affine.gamma = gamma;
          affine.beta = beta;
        }
      }
    },
);
