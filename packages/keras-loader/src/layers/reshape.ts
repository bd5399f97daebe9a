import { derivingOnce, type LayerClass } from "./layer-class.js";
import { firstShape, type LayerShape } from "./own-layer.js";

/**
 * tfjs-layers' own Reshape, which knows what -1 stands for: stock 4.22 takes a batch that is not known for a size that is not known, and says so of all
 * that follows.
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
