export { type OwnLayerClass, registerKerasLayers } from "./layer-classes.js";
export { Normalization, type NormalizationArgs } from "./layers/normalization.js";
export { type LoadKerasModelOptions, loadKerasModel } from "./load-keras-model.js";
