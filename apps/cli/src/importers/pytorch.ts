import type { RunImporter } from "./importer.js";
import { namingFile } from "./naming-file.js";
import { parseJson } from "./parse-json.js";

/** A run of PyTorch, as written by the exporter. */
export const pyTorchImporter: RunImporter = {
  name: "pytorch",
  gives: "run",
  example: "run.json.gz",
  what: "a PyTorch run from remat.record or remat.export, compressed or not",
  ending: /\.json(\.gz)?$/,
  recognises: (path, { text }) => path.endsWith(".json.gz") || /^\s*\{\s*"schema"\s*:\s*"[a-z-]+-oracle\//.test(text),
  read: async (path) => {
    const { readPyTorchTrace } = await import("@remat/pytorch");
    const json = parseJson(path);
    return namingFile(path, () => readPyTorchTrace(json));
  },
};
