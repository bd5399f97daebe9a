import {
  AdaptiveAveragePooling1D,
  AdaptiveAveragePooling2D,
  AdaptiveAveragePooling3D,
  AdaptiveMaxPooling1D,
  AdaptiveMaxPooling2D,
  AdaptiveMaxPooling3D,
} from "./layers/adaptive-pooling.js";
import { AdditiveAttention, Attention } from "./layers/attention.js";
import {
  RandomBrightness,
  RandomContrast,
  RandomCrop,
  RandomFlip,
  RandomHeight,
  RandomRotation,
  RandomTranslation,
  RandomZoom,
} from "./layers/augmentation.js";
import { ConvLSTM1D, ConvLSTM3D } from "./layers/convolutional-lstm.js";
import { EinsumDense } from "./layers/einsum-dense.js";
import { GlobalAveragePooling3D, GlobalMaxPooling3D } from "./layers/global-pooling.js";
import { KerasOperation } from "./layers/keras-operation.js";
import type { LayerClass } from "./layers/layer-class.js";
import { LocallyConnected1D, LocallyConnected2D } from "./layers/locally-connected.js";
import { CustomScaleLayer, Subtract } from "./layers/merging.js";
import { GroupQueryAttention, MultiHeadAttention } from "./layers/multi-head-attention.js";
import { Conv1DTranspose, DepthwiseConv1D, SeparableConv1D } from "./layers/narrow-convolutions.js";
import { Normalization } from "./layers/normalization.js";
import { ActivityRegularization, Discretization } from "./layers/preprocessing.js";
import {
  Cropping1D,
  Cropping3D,
  UpSampling1D,
  UpSampling3D,
  ZeroPadding1D,
  ZeroPadding3D,
} from "./layers/resampling.js";
import { GroupNormalization, RMSNormalization, UnitNormalization } from "./layers/scale-normalizations.js";
import { SpatialDropout2D, SpatialDropout3D } from "./layers/small-layers.js";
import { SpectralNormalization } from "./layers/spectral-normalization.js";
import { LayerScale, StochasticDepth } from "./layers/stochastic-depth.js";

/** Layers that tfjs-layers lacks. A class already registered under the name takes precedence. */
export const missing = {
  ActivityRegularization,
  AdaptiveAveragePooling1D,
  AdaptiveAveragePooling2D,
  AdaptiveAveragePooling3D,
  AdaptiveMaxPooling1D,
  AdaptiveMaxPooling2D,
  AdaptiveMaxPooling3D,
  AdditiveAttention,
  Attention,
  Conv1DTranspose,
  ConvLSTM1D,
  ConvLSTM3D,
  Cropping1D,
  Cropping3D,
  CustomScaleLayer,
  DepthwiseConv1D,
  Discretization,
  EinsumDense,
  GlobalAveragePooling3D,
  GlobalMaxPooling3D,
  GroupNormalization,
  GroupQueryAttention,
  KerasOperation,
  LayerScale,
  LocallyConnected1D,
  LocallyConnected2D,
  MultiHeadAttention,
  Normalization,
  RMSNormalization,
  RandomBrightness,
  RandomContrast,
  RandomCrop,
  RandomFlip,
  RandomHeight,
  RandomRotation,
  RandomTranslation,
  RandomZoom,
  SeparableConv1D,
  SpatialDropout2D,
  SpatialDropout3D,
  SpectralNormalization,
  StochasticDepth,
  Subtract,
  UnitNormalization,
  UpSampling1D,
  UpSampling3D,
  ZeroPadding1D,
  ZeroPadding3D,
} as unknown as Readonly<Record<string, LayerClass>>;

/** The names of the layers that tfjs-layers lacks and this package supplies. */
export const suppliedLayers: readonly string[] = Object.keys(missing);
