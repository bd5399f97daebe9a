import type { ModelImporter } from "./importer.js";
import { namingFile } from "./naming-file.js";
import { parseJson } from "./parse-json.js";

/** A Keras topology; whatever JSON nobody else knows is taken for one. */
export const kerasImporter: ModelImporter = {
  name: "keras",
  gives: "model",
  example: "model.json",
  what: "a Keras topology as tfjs-layers or Keras writes it; its weights are not needed",
  ending: /(\.model)?\.json$/,
  offered: /^model\.json$|\.model\.json$/,
  recognises: (path) => path.endsWith(".json"),
  async load(path) {
    const { loadKerasModel } = await import("@remat/keras-loader");
    const json = parseJson(path);
    return () => namingFile(path, () => loadKerasModel(json as object));
  },
};
