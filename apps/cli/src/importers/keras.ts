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
  ending: /(\.model)?\.json$|\.keras$/,
  offered: /^model\.json$|\.model\.json$|\.keras$/,
  recognises: (path) => path.endsWith(".json") || path.endsWith(".keras"),
  async load(path, layersPath) {
    const { loadKerasModel } = await import("@remat/keras-loader");
    const source = path.endsWith(".keras") ? readFileSync(path) : (parseJson(path) as object);
    const layers = layersPath === undefined ? [] : await (await import("./own-layers.js")).importLayers(layersPath);
    return () => {
      const notes: string[] = [];
      const model = namingFile(path, () => loadKerasModel(source, { layers, onNote: (note) => notes.push(note) }));
      return { name: model.name, model, notes };
    };
  },
};
