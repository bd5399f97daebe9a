import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import type { ModelImporter } from "./importer.js";

const endings = new Set([".js", ".mjs", ".cjs", ".ts", ".mts"]);

/** TypeScript needs a loader if Node does not read it directly. */
function nextStep(path: string, cause: unknown): string {
  if ((cause as NodeJS.ErrnoException).code !== "ERR_UNKNOWN_FILE_EXTENSION")
    return "Check that Node can run it as an ES module.";
  return (
    "This version of Node cannot read TypeScript. " +
    `Put NODE_OPTIONS="--import tsx" before remat, or record a training program: ` +
    `${shell`remat record -- npx tsx ${shell.path(path)}`}.`
  );
}

/** An ES module that exports a model factory. */
export const esModuleImporter: ModelImporter = {
  name: "module",
  gives: "model",
  example: "model.js",
  what: "an ES module whose default export is a function that returns a model",
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
        `${path}: cannot be imported: ${(cause as Error).message}. ${nextStep(path, cause)}`,
        { cause },
      );
    }
    if (module.default === undefined)
      throw new RematError(
        "MODEL_EXPORT",
        `${path}: has no default export. Export a function that makes a model (export default ({ tf, batch }) => …), ` +
          `or record a training program: ${shell`remat record -- node ${shell.path(path)}`}.`,
      );
    return module.default;
  },
};
