import { conv2d, type Tensor } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { convolveDepthwise } from "./convolve.js";
import { derivingOnce, type LayerClass } from "./layer-class.js";
import type { LayerShape } from "./own-layer.js";
import { callConvolution, convolvedShape, type StockConvolution } from "./stock-convolution.js";

/** Members of tfjs-layers' `DepthwiseConv2D` and `SeparableConv2D` that are read here. */
interface Depthwise extends StockConvolution {
  readonly filters?: number;
  readonly depthMultiplier: number;
  readonly depthwiseKernel: LayerVariable;
  readonly pointwiseKernel?: LayerVariable;
}

/**
 * Adds dilated windows to `DepthwiseConv2D` and `SeparableConv2D`. tfjs-layers 4.22 ignores the option in
 * `DepthwiseConv2D`, and has no gradient for it in `SeparableConv2D`.
 */
export const withDilatedWindow: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class DilatedDepthwise extends Base {
      override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
        const self = this as unknown as Depthwise;
        return convolvedShape(self, inputShape, (channels) =>
          self.pointwiseKernel === undefined ? channels * self.depthMultiplier : (self.filters as number),
        );
      }

      override call(inputs: Tensor | Tensor[]): Tensor {
        const self = this as unknown as Depthwise;
        return callConvolution(self, inputs, (x) => {
          const apart = convolveDepthwise(x, self.depthwiseKernel.read(), self);
          if (self.pointwiseKernel === undefined) return apart;
          return conv2d(apart as never, self.pointwiseKernel.read() as never, 1, "valid");
        });
      }
    },
);
