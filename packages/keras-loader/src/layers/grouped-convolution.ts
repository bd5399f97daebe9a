import { concat, reshape, split, type Tensor } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { convolve, convolveDepthwise } from "./convolve.js";
import { derivingOnce, type LayerClass } from "./layer-class.js";
import type { LayerShape } from "./own-layer.js";
import { callConvolution, convolvedShape, type StockConvolution } from "./stock-convolution.js";

/** Members of tfjs-layers' convolutions that are read and set here. */
interface Convolution extends StockConvolution {
  readonly rank: number;
  readonly filters: number;
  readonly useBias: boolean;
  readonly kernelInitializer: never;
  readonly kernelRegularizer: never;
  readonly kernelConstraint: never;
  readonly biasInitializer: never;
  readonly biasRegularizer: never;
  readonly biasConstraint: never;
  kernel: LayerVariable | null;
  bias: LayerVariable | null;
  built: boolean;
}

/**
 * Adds groups, dilated windows and causal padding to the convolutions of tfjs-layers. With `groups` each group of
 * output channels reads its own group of input channels, as in Keras. tfjs-layers 4.22 ignores that option, has no
 * gradient for dilated windows, and pads incorrectly for causal convolutions with even windows.
 *
 * Groups of one channel are a depthwise convolution. Otherwise there is one convolution per group, and the results are
 * concatenated. These are kernels of TensorFlow.js with their gradients, and the cost is a split and a concatenation.
 */
export const withGroups: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class GroupedConvolution extends Base {
      readonly groups: number;

      constructor(config: object) {
        super(config);
        this.groups = (config as { groups?: number }).groups ?? 1;
      }

      override build(inputShape: (number | null)[] | (number | null)[][]): void {
        const self = this as unknown as Convolution;
        const shape = inputShape as (number | null)[];
        const channels = shape[channelAxis(self, shape.length)] as number;
        if (channels % this.groups !== 0 || self.filters % this.groups !== 0)
          throw new Error(
            `${channels} input and ${self.filters} output channels must both be divisible by the ${this.groups} groups`,
          );
        const kernelShape = [...self.kernelSize, channels / this.groups, self.filters];
        self.kernel = this.addWeight(
          "kernel",
          kernelShape,
          "float32",
          self.kernelInitializer,
          self.kernelRegularizer,
          true,
          self.kernelConstraint,
        );
        if (self.useBias)
          self.bias = this.addWeight(
            "bias",
            [self.filters],
            "float32",
            self.biasInitializer,
            self.biasRegularizer,
            true,
            self.biasConstraint,
          );
        self.built = true;
      }

      override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
        const self = this as unknown as Convolution;
        return convolvedShape(self, inputShape, () => self.filters);
      }

      override call(inputs: Tensor | Tensor[]): Tensor {
        const self = this as unknown as Convolution;
        return callConvolution(self, inputs, (x) =>
          convolveGroups(self, x, (self.kernel as LayerVariable).read(), this.groups),
        );
      }

      override getConfig(): ReturnType<InstanceType<LayerClass>["getConfig"]> {
        return { ...super.getConfig(), groups: this.groups };
      }
    },
);

const channelAxis = ({ dataFormat }: Convolution, rank: number): number =>
  dataFormat === "channelsFirst" ? 1 : rank - 1;

function convolveGroups(self: Convolution, x: Tensor, kernel: Tensor, groups: number): Tensor {
  if (groups === 1) return convolve(x, kernel, self);
  const perGroup = kernel.shape.at(-2) as number;
  if (perGroup === 1 && self.rank === 2 && self.strides[0] === self.strides[1]) {
    const [height, width] = self.kernelSize as [number, number];
    return convolveDepthwise(x, reshape(kernel, [height, width, groups, self.filters / groups]), self);
  }
  const inputs = split(x, groups, -1);
  const kernels = split(kernel, groups, -1);
  return concat(
    inputs.map((input, i) => convolve(input, kernels[i] as Tensor, self)),
    -1,
  );
}
