import { add, type Tensor, tidy, transpose } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { convolvedSize, type Window } from "./convolve.js";
import { channelOrders, firstInput, firstShape, type LayerShape } from "./own-layer.js";

/** Members of all convolutions of tfjs-layers that are read here. */
export interface StockConvolution extends Window {
  readonly kernelSize: readonly number[];
  readonly dataFormat: string;
  readonly activation: { apply(x: Tensor): Tensor } | null;
  readonly bias: LayerVariable | null;
}

/**
 * Returns the output shape of a convolution. `outChannels` maps the number of input channels to that of output
 * channels.
 */
export function convolvedShape(
  { kernelSize, dataFormat, padding, strides, dilationRate }: StockConvolution,
  inputShape: LayerShape | LayerShape[],
  outChannels: (channels: number) => number,
): LayerShape {
  const [batch, ...rest] = firstShape(inputShape);
  const isFirst = dataFormat === "channelsFirst";
  const channels = outChannels((isFirst ? rest[0] : rest.at(-1)) as number);
  const space = (isFirst ? rest.slice(1) : rest.slice(0, -1)).map((size, i) =>
    convolvedSize(size, kernelSize[i] as number, padding, strides[i] as number, dilationRate[i] as number),
  );
  return [batch as number | null, ...(isFirst ? [channels, ...space] : [...space, channels])];
}

/**
 * Runs `convolve` on the input with its channels last, then applies bias and activation and restores the channel order.
 */
export function callConvolution(
  { dataFormat, bias, activation }: StockConvolution,
  inputs: Tensor | Tensor[],
  convolve: (x: Tensor) => Tensor,
): Tensor {
  return tidy(() => {
    const x = firstInput(inputs);
    const isFirst = dataFormat === "channelsFirst";
    const { toLast, toFirst } = channelOrders(x.rank);
    const convolved = convolve(isFirst ? transpose(x, toLast) : x);
    const biased = bias === null ? convolved : add(convolved, bias.read());
    const active = activation === null ? biased : activation.apply(biased);
    return isFirst ? transpose(active, toFirst) : active;
  });
}
