import { readFileSync } from "node:fs";
import type { ModelImporter } from "./importer.js";
import { namingFile } from "./naming-file.js";
import { parseJson } from "./parse-json.js";

/** A Keras topology, or a `.keras` archive with one; whatever JSON nobody else knows is taken for one. */
export const kerasImporter: ModelImporter = {
  name: "keras",
  gives: "model",
  takesLayers: true,
  example: "model.json",
  what: "a Keras topology as tfjs-layers or Keras writes it; its weights are not needed",
  ending: /(\.model)?\.json$|\.keras$|\.h5$/,
  offered: /^model\.json$|\.model\.json$|\.keras$/,
  // HDF5 files are refused by the loader, which says how to come to one that can be read.
  recognises: (path) => /\.(json|keras|h5|hdf5)$/.test(path),
  async load(path, layersPath) {
    const { loadKerasModel } = await import("@remat/keras-loader");
    const source = path.endsWith(".json") ? (parseJson(path) as object) : readFileSync(path);
    const layers = layersPath === undefined ? [] : await (await import("./own-layers.js")).importLayers(layersPath);
    return () => {
      const notes: string[] = [];
      const model = namingFile(path, () => loadKerasModel(source, { layers, onNote: (note) => notes.push(note) }));
      return { name: model.name, model, notes };
    };
  },
};
