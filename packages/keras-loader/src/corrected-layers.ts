import type { JsonObject } from "./json.js";
import { AlphaDropout } from "./layers/alpha-dropout.js";
import { RandomWidth } from "./layers/augmentation.js";
import { withOptionalAffine } from "./layers/batch-normalization.js";
import { CategoryEncoding } from "./layers/category-encoding.js";
import { ConvLSTM2D } from "./layers/convolutional-lstm.js";
import { withDilatedWindow } from "./layers/dilated-depthwise.js";
import {
  GlobalAveragePooling1D,
  GlobalAveragePooling2D,
  GlobalMaxPooling1D,
  GlobalMaxPooling2D,
} from "./layers/global-pooling.js";
import { withGroups } from "./layers/grouped-convolution.js";
import type { LayerClass } from "./layers/layer-class.js";
import { withOwnArguments, withResetAfter, withResetAfterCell } from "./layers/recurrent.js";
import { withKerasMagnitude } from "./layers/regularizer.js";
import { UpSampling2D } from "./layers/resampling.js";
import { withKnownSizes } from "./layers/reshape.js";
import { CenterCrop, Resizing } from "./layers/resizing.js";
import { ScaledELU, SlopedReLU, SoftmaxAlong, ThresholdedReLU, withKerasGradient } from "./layers/small-layers.js";
import { withOutputPadding } from "./layers/transposed-convolutions.js";

interface Correction {
  /** Explains to the user when the correction applies. */
  readonly why: string;
  readonly when: (config: JsonObject) => boolean;
  readonly make: (stock: LayerClass, config: JsonObject) => LayerClass;
}

const always = (): boolean => true;
const isSet = (value: unknown): boolean => typeof value === "number" && value !== 0;
const isDilated = ({ dilationRate }: JsonObject): boolean => [dilationRate ?? 1].flat().some((rate) => rate !== 1);
const isGrouped = ({ groups }: JsonObject): boolean => typeof groups === "number" && groups !== 1;

/** Replaces the class of tfjs-layers. */
const instead = (cls: unknown) => () => cls as LayerClass;

const recurrent: Correction = { why: "where initial states are given", when: always, make: withOwnArguments };

const convolution: Correction = {
  why: "grouped, dilated or causal",
  when: (config) => isGrouped(config) || config["padding"] === "causal" || isDilated(config),
  make: withGroups,
};

const depthwise: Correction = { why: "dilated", when: isDilated, make: withDilatedWindow };

const keeping = (cls: LayerClass): Correction => ({
  why: "with `keepdims`",
  when: ({ keepdims }) => keepdims === true,
  make: instead(cls),
});

/** Layers of tfjs-layers that need a correction for some configurations. */
export const corrected: Readonly<Record<string, Correction>> = {
  GlobalAveragePooling1D: keeping(GlobalAveragePooling1D),
  GlobalAveragePooling2D: keeping(GlobalAveragePooling2D),
  GlobalMaxPooling1D: {
    why: "always: equal elements share a gradient",
    when: always,
    make: instead(GlobalMaxPooling1D),
  },
  GlobalMaxPooling2D: {
    why: "always: equal elements share a gradient",
    when: always,
    make: instead(GlobalMaxPooling2D),
  },
  // A regularizer, which is in the same table as layers
  L1L2: { why: "always: the gradient at 0 is 0", when: ({ l1 }) => isSet(l1), make: withKerasMagnitude },
  PReLU: { why: "always: the gradient at 0 is 0", when: always, make: withKerasGradient },
  BatchNormalization: {
    why: "without scale or centre, and of volumes",
    when: always,
    make: withOptionalAffine,
  },
  Conv1D: convolution,
  Conv2D: convolution,
  Conv3D: convolution,
  DepthwiseConv2D: depthwise,
  SeparableConv2D: depthwise,
  Conv2DTranspose: {
    why: "with output padding",
    when: ({ outputPadding }) => outputPadding != null,
    make: withOutputPadding,
  },
  Conv3DTranspose: { why: "always: tfjs has no gradient", when: always, make: withOutputPadding },
  ConvLSTM2D: { why: "always: masks, dilation", when: always, make: instead(ConvLSTM2D) },
  Resizing: { why: "always: tfjs's takes no batch", when: always, make: instead(Resizing) },
  CenterCrop: { why: "always: tfjs's takes no batch", when: always, make: instead(CenterCrop) },
  ELU: {
    why: "with another `alpha` than 1",
    when: ({ alpha }) => typeof alpha === "number" && alpha !== 1,
    make: instead(ScaledELU),
  },
  Softmax: {
    why: "along another axis than the last",
    when: ({ axis }) => axis !== undefined && axis !== -1,
    make: instead(SoftmaxAlong),
  },
  Reshape: {
    why: "to a size of -1",
    when: ({ targetShape }) => [targetShape].flat().includes(-1),
    make: withKnownSizes,
  },
  ThresholdedReLU: { why: "always: tfjs has no gradient", when: always, make: instead(ThresholdedReLU) },
  RandomWidth: { why: "always: tfjs's has another shape", when: always, make: instead(RandomWidth) },
  UpSampling2D: { why: "always: other weights and gradients", when: always, make: instead(UpSampling2D) },
  AlphaDropout: { why: "always: tfjs's moves the mean", when: always, make: instead(AlphaDropout) },
  CategoryEncoding: { why: "always: tfjs's reads its input", when: always, make: instead(CategoryEncoding) },
  ReLU: {
    why: "with a slope or threshold",
    when: (config) => isSet(config["negativeSlope"]) || isSet(config["threshold"]),
    make: instead(SlopedReLU),
  },
  SimpleRNN: recurrent,
  LSTM: recurrent,
  GRU: {
    why: "with `reset_after`, or where initial states are given",
    when: always,
    make: (stock, { resetAfter }) => (resetAfter === true ? withResetAfterCell(stock) : withOwnArguments(stock)),
  },
  GRUCell: { why: "with `reset_after`", when: ({ resetAfter }) => resetAfter === true, make: withResetAfter },
  Bidirectional: recurrent,
};
