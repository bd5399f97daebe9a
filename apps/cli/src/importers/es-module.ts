import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { RematError } from "@remat/trace";
import type { ModelImporter } from "./importer.js";

const endings = new Set([".js", ".mjs", ".cjs", ".ts", ".mts"]);

/** An ES module that exports what makes a model. */
export const esModuleImporter: ModelImporter = {
  name: "module",
  gives: "model",
  example: "model.js",
  what: "an ES module whose default export is a function that makes a model",
  ending: /\.[cm]?[jt]s$/,
  offered: /^model\.m?js$/,
  recognises: (path) => endings.has(extname(path)),
  async load(path) {
    let module: { default?: unknown };
    try {
      module = (await import(pathToFileURL(path).href)) as { default?: unknown };
    } catch (cause) {
      throw new RematError(
        "MODEL_IMPORT",
        `${path}: cannot be imported: ${(cause as Error).message}. Expected an ES module that runs by itself.`,
        { cause },
      );
    }
    if (module.default === undefined)
      throw new RematError(
        "MODEL_EXPORT",
        `${path}: has no default export. Expected a function that returns a model; see examples/README.md.`,
      );
    return module.default;
  },
};
