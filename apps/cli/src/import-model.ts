import { pathToFileURL } from "node:url";
import { RematError } from "@remat/trace";

/** Returns what the ES module at `path` exports by default. Loads nothing of the hook, since stock steps need it, too. */
export async function importModel(path: string): Promise<unknown> {
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
}
