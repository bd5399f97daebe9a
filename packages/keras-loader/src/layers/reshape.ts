import { derivingOnce, type LayerClass } from "./layer-class.js";
import { firstShape, type LayerShape } from "./own-layer.js";

/**
 * Makes Reshape of tfjs-layers compute the size for -1. tfjs-layers 4.22 treats an unknown batch like an unknown size,
 * and so all later sizes are unknown.
 */
export const withKnownSizes: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class Reshape extends Base {
      override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape | LayerShape[] {
        const [batch = null, ...sizes] = firstShape(inputShape);
        if (batch !== null || sizes.includes(null)) return super.computeOutputShape(inputShape);
        const [, ...known] = firstShape(super.computeOutputShape([1, ...sizes]));
        return [batch, ...known];
      }
    },
);
