import { serialization } from "@tensorflow/tfjs-core";
import { type JsonObject, ownField } from "./json.js";
import { suppliedActivation } from "./layers/activations.js";
import { AdditiveAttention, Attention, MultiHeadAttention } from "./layers/attention.js";
import { withOptionalAffine } from "./layers/batch-normalization.js";
import { EinsumDense } from "./layers/einsum-dense.js";
import {
  GlobalAveragePooling1D,
  GlobalAveragePooling2D,
  GlobalAveragePooling3D,
  GlobalMaxPooling1D,
  GlobalMaxPooling2D,
  GlobalMaxPooling3D,
} from "./layers/global-pooling.js";
import { withGroups } from "./layers/grouped-convolution.js";
import { KerasOperation } from "./layers/keras-operation.js";
import type { Layer, LayerClass } from "./layers/layer-class.js";
import { CustomScaleLayer, Subtract } from "./layers/merging.js";
import { Conv1DTranspose, DepthwiseConv1D, SeparableConv1D } from "./layers/narrow-convolutions.js";
import { Normalization } from "./layers/normalization.js";
import { withOwnArguments } from "./layers/recurrent.js";
import {
  Cropping1D,
  Cropping3D,
  UpSampling1D,
  UpSampling3D,
  ZeroPadding1D,
  ZeroPadding3D,
} from "./layers/resampling.js";
import { GroupNormalization, RMSNormalization, UnitNormalization } from "./layers/scale-normalizations.js";
import { SlopedReLU, SpatialDropout2D, SpatialDropout3D } from "./layers/small-layers.js";
import { LayerScale, StochasticDepth } from "./layers/stochastic-depth.js";

/** How tfjs-layers keeps a class under its name: the class, and what makes an instance of a configuration. */
export type Registration = readonly [
  unknown,
  (cls: unknown, config: JsonObject, customObjects: object, fast: boolean) => Layer,
];
type ClassMap = Record<string, Registration>;

/** Layers that tfjs-layers lacks. A class that is already registered under the name wins. */
const missing = {
  AdditiveAttention,
  Attention,
  Conv1DTranspose,
  Cropping1D,
  Cropping3D,
  CustomScaleLayer,
  DepthwiseConv1D,
  EinsumDense,
  GlobalAveragePooling3D,
  GlobalMaxPooling3D,
  GroupNormalization,
  KerasOperation,
  LayerScale,
  MultiHeadAttention,
  Normalization,
  RMSNormalization,
  SeparableConv1D,
  SpatialDropout2D,
  SpatialDropout3D,
  StochasticDepth,
  Subtract,
  UnitNormalization,
  UpSampling1D,
  UpSampling3D,
  ZeroPadding1D,
  ZeroPadding3D,
} as unknown as Readonly<Record<string, LayerClass>>;

/** The names of the layers that tfjs-layers lacks and this package has. */
export const suppliedLayers: readonly string[] = Object.keys(missing);

interface Correction {
  readonly when: (config: JsonObject) => boolean;
  readonly make: (stock: LayerClass) => LayerClass;
}

const recurrent: Correction = { when: () => true, make: withOwnArguments };

const grouped: Correction = { when: ({ groups }) => typeof groups === "number" && groups !== 1, make: withGroups };

/** Layers that tfjs-layers has and that need correcting, when the configuration says so. */
const corrected: Readonly<Record<string, Correction>> = {
  GlobalAveragePooling1D: { when: keepsDimensions, make: () => GlobalAveragePooling1D },
  GlobalAveragePooling2D: { when: keepsDimensions, make: () => GlobalAveragePooling2D },
  GlobalMaxPooling1D: { when: keepsDimensions, make: () => GlobalMaxPooling1D },
  GlobalMaxPooling2D: { when: keepsDimensions, make: () => GlobalMaxPooling2D },
  BatchNormalization: {
    when: (config) => config["scale"] === false || config["center"] === false,
    make: withOptionalAffine,
  },
  Conv1D: grouped,
  Conv2D: grouped,
  Conv3D: grouped,
  ReLU: {
    when: (config) => isSet(config["negativeSlope"]) || isSet(config["threshold"]),
    make: () => SlopedReLU as unknown as LayerClass,
  },
  SimpleRNN: recurrent,
  LSTM: recurrent,
  GRU: recurrent,
  Bidirectional: recurrent,
};

const isSet = (value: unknown): boolean => typeof value === "number" && value !== 0;

function keepsDimensions(config: JsonObject): boolean {
  return config["keepdims"] === true;
}

/** Tells whether this package supplies a layer class that tfjs-layers lacks. */
export function isSupplied(className: string): boolean {
  return Object.hasOwn(missing, className);
}

/** Returns tfjs-layers' table of classes by name, which is shared by the whole process. */
export function classMap(): ClassMap {
  return serialization.SerializationMap.getMap().classNameMap as unknown as ClassMap;
}

/** Tells whether tfjs-layers or the user has registered a class of this name. */
export function isRegistered(className: string): boolean {
  return Object.hasOwn(classMap(), className);
}

/** The registration of a class as loading a file needs it: tfjs-layers' or the user's own, supplied where missing, corrected where wrong. */
function registrationOf(className: string): Registration | undefined {
  const Activation = isRegistered(className) ? undefined : suppliedActivation(className);
  if (Activation !== undefined) return [Activation, () => new (Activation as unknown as new () => Layer)()];
  if (!isRegistered(className)) {
    const Supplied = ownField(missing, className);
    return Supplied && [Supplied, (_cls, config) => new Supplied(config)];
  }
  const registered = classMap()[className] as Registration;
  const correction = ownField(corrected, className);
  if (correction === undefined) return registered;
  const [cls, fromConfig] = registered;
  return [
    cls,
    (_cls, config, customObjects, fast) => {
      if (!correction.when(config)) return fromConfig(cls, config, customObjects, fast);
      return fromConfig(correction.make(cls as LayerClass), config, customObjects, fast);
    },
  ];
}

/**
 * Runs `build` while the table of classes answers the given names with what {@link registrationOf} finds, each `fromConfig` wrapped by
 * `observe`; afterwards the table is what it was, after an exception too. (Custom objects would be the public way, but tfjs-layers does
 * not pass them on to the layers of a Sequential.)
 */
export function withLayerClasses<T>(
  classNames: Iterable<string>,
  observe: (registration: Registration) => Registration,
  build: () => T,
): T {
  const map = classMap();
  const before = new Map<string, Registration | undefined>();
  try {
    for (const name of classNames) {
      const registration = registrationOf(name);
      if (registration === undefined || before.has(name)) continue;
      before.set(name, map[name]);
      map[name] = observe(registration);
    }
    return build();
  } finally {
    for (const [name, registration] of before) {
      if (registration === undefined) delete map[name];
      else map[name] = registration;
    }
  }
}

/**
 * Registers the layers that tfjs-layers lacks (`Normalization`), so that `tf.loadLayersModel` and `tf.models.modelFromJSON` know them too.
 * A class of that name that is already registered stays; calling this again changes nothing. `loadKerasModel` does not need it.
 *
 * @returns The names registered by this call.
 * @example
 * registerKerasLayers(); // ["Normalization"]
 */
export function registerKerasLayers(): string[] {
  const added = Object.keys(missing).filter((name) => !isRegistered(name));
  for (const name of added) {
    serialization.registerClass(missing[name] as unknown as Parameters<typeof serialization.registerClass>[0]);
  }
  return added;
}
