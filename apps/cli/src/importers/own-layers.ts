import { pathToFileURL } from "node:url";
import type { OwnLayerClass } from "@remat/keras-loader";
import { RematError } from "@remat/trace";
import { tfNamespace } from "@remat/tracer/step";

/**
 * Imports custom layer classes from an ES module. Its default export, a function of `{ tf }`, returns them as a list.
 * They must extend classes of that `tf`, since layers of another copy would not be recognised.
 *
 * @throws RematError `LAYERS_FILE`
 */
export async function importLayers(path: string): Promise<readonly OwnLayerClass[]> {
  const expected = "Write an ES module: export default ({ tf }) => [class MyLayer extends tf.layers.Layer { … }].";
  const wrong = (what: string, cause?: unknown): RematError =>
    new RematError("LAYERS_FILE", `${path}: ${what}. ${expected}`, { cause });
  let make: unknown;
  try {
    ({ default: make } = (await import(pathToFileURL(path).href)) as { default?: unknown });
  } catch (cause) {
    throw wrong(`cannot be imported: ${(cause as Error).message}`, cause);
  }
  if (typeof make !== "function") throw wrong("its default export is not a function");
  const made: unknown = await (make as (context: object) => unknown)({ tf: tfNamespace() });
  if (!Array.isArray(made)) throw wrong("its function does not return a list");
  return made as OwnLayerClass[];
}
