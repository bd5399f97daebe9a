import { pathToFileURL } from "node:url";
import type { OwnLayerClass } from "@remat/keras-loader";
import { RematError } from "@remat/trace";
import { tfNamespace } from "@remat/tracer/step";

/**
 * Imports the classes of layers that an ES module makes: its default export, a function of `{ tf }`, returns them as a list. They derive from the `tf` that
 * they are given, since layers of another copy would be none.
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
