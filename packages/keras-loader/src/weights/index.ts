export { readHdf5Topology } from "./read-hdf5-topology.js";
export { readKerasWeights } from "./read-keras-weights.js";
export { readManifestWeights, type WeightsGroup, weightsManifest } from "./read-manifest-weights.js";
export { type KerasWeights, type StoredArray, type StoredObject } from "./stored-weights.js";
