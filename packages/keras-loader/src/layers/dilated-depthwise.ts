import { add, conv2d, type Tensor, tidy, transpose } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { convolveDepthwise, convolvedSize, type Window } from "./convolve.js";
import { derivingOnce, type LayerClass } from "./layer-class.js";
import { channelOrders, firstInput, firstShape, type LayerShape } from "./own-layer.js";

/** The members of tfjs-layers' `DepthwiseConv2D` and `SeparableConv2D` that this one reads. */
interface Depthwise extends Window {
  readonly kernelSize: number[];
  readonly filters?: number;
  readonly depthMultiplier: number;
  readonly dataFormat: string;
  readonly activation: { apply(x: Tensor): Tensor } | null;
  readonly depthwiseKernel: LayerVariable;
  readonly pointwiseKernel?: LayerVariable;
  readonly bias: LayerVariable | null;
}

/** tfjs-layers' `DepthwiseConv2D` and `SeparableConv2D` with a dilated window: stock 4.22 reads past it in the one, and in the other has no gradient. */
export const withDilatedWindow: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class DilatedDepthwise extends Base {
      override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
        const self = this as unknown as Depthwise;
        const [batch, ...rest] = firstShape(inputShape);
        const isFirst = self.dataFormat === "channelsFirst";
        const channels = (isFirst ? rest[0] : rest.at(-1)) as number;
        const out = self.pointwiseKernel === undefined ? channels * self.depthMultiplier : (self.filters as number);
        const space = (isFirst ? rest.slice(1) : rest.slice(0, -1)).map((size, i) =>
          convolvedSize(
            size,
            self.kernelSize[i] as number,
            self.padding,
            self.strides[i] as number,
            self.dilationRate[i] as number,
          ),
        );
        return [batch as number | null, ...(isFirst ? [out, ...space] : [...space, out])];
      }

      override call(inputs: Tensor | Tensor[]): Tensor {
        const self = this as unknown as Depthwise;
        return tidy(() => {
          const x = firstInput(inputs);
          const isFirst = self.dataFormat === "channelsFirst";
          const { toLast, toFirst } = channelOrders(4);
          const last = isFirst ? transpose(x, toLast) : x;
          const apart = convolveDepthwise(last, self.depthwiseKernel.read(), self);
          const mixed =
            self.pointwiseKernel === undefined
              ? apart
              : conv2d(apart as never, self.pointwiseKernel.read() as never, 1, "valid");
          const biased = self.bias === null ? mixed : add(mixed, self.bias.read());
          const active = self.activation === null ? biased : self.activation.apply(biased);
          return isFirst ? transpose(active, toFirst) : active;
        });
      }
    },
);
