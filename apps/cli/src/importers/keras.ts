import { RematError } from "@remat/trace";
import type { ModelImporter } from "./importer.js";
import { readKerasFile } from "./keras-file.js";
import { namingFile } from "./naming-file.js";

/**
 * A Keras model: a topology, a `.keras` archive or an HDF5 file. JSON that no other importer recognises is read as a
 * topology.
 */
export const kerasImporter: ModelImporter = {
  name: "keras",
  gives: "model",
  takesParts: true,
  example: "model.json",
  what: "a Keras model from tfjs-layers or Keras: .json, .keras or .h5 (estimates ignore the weights)",
  ending: /(\.model)?\.json$|\.keras$|(\.weights)?\.(h5|hdf5)$/,
  offered: /^model\.json$|\.model\.json$|\.keras$|(?<!\.weights)\.h5$/,
  recognises: (path) => /\.(json|keras|h5|hdf5)$/.test(path),
  async load(path, { layers: layersPath, weights: weightsPath, readsWeights }) {
    const { loadKerasModel } = await import("@remat/keras-loader");
    const file = await readKerasFile(path);
    const layers = layersPath === undefined ? [] : await (await import("./own-layers.js")).importLayers(layersPath);
    const given = weightsPath === undefined ? file : await readKerasFile(weightsPath);
    return async () => {
      const notes: string[] = [];
      const onNote = (note: string): number => notes.push(note);
      const weights = readsWeights ? await given.readWeights(onNote) : undefined;
      if (readsWeights && weightsPath !== undefined && weights === undefined) throw withoutWeights(weightsPath);
      const read = weights === undefined || weightsPath === undefined ? path : `${path}, ${weightsPath}`;
      const model = namingFile(read, () => loadKerasModel(file.topology(), { layers, onNote, weights }));
      return { name: model.name, model, notes };
    };
  },
};

function withoutWeights(path: string): RematError {
  return new RematError(
    "KERAS_WEIGHTS_FILE",
    `${path}: contains no weights. Name a .weights.h5, .h5 or .keras file, or a model.json with its weight files beside it.`,
  );
}
