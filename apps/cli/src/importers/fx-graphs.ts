import type { CompiledImporter } from "./importer.js";
import { namingFile } from "./naming-file.js";
import { parseJson } from "./parse-json.js";

/** Graphs of a compiled model, as written by `remat.export_graphs` in Python. */
export const fxGraphsImporter: CompiledImporter = {
  name: "fx-graphs",
  gives: "compiled",
  example: "graphs.json.gz",
  what: "a model compiled by torch.compile, from remat.export_graphs in Python",
  ending: /\.json(\.gz)?$/,
  recognises: (_path, { text }) => /^\s*\{\s*"schema"\s*:\s*"fx-graphs\//.test(text),
  read: async (path) => {
    const { readFxGraphs } = await import("@remat/pytorch");
    const json = parseJson(path);
    return namingFile(path, () => readFxGraphs(json));
  },
};
