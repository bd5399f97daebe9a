import { RematError } from "@remat/trace";
import { isArchive, readArchiveWeights } from "../read-archive.js";
import type { Hdf5Object } from "./hdf5/open-file.js";
import { arrayOf, attributeOf, groupsOf, isHdf5, readingHdf5 } from "./hdf5-file.js";
import type { KerasWeights, StoredArray, StoredObject } from "./stored-weights.js";

/**
 * Reads the list of weights in a Keras file: a `.keras` archive, a `.weights.h5`, or a legacy `.h5` with or without the
 * model. Values are read when they are assigned to a model.
 *
 * @throws RematError `KERAS_WEIGHTS_FILE`, `KERAS_ARCHIVE`
 * @example
 * const bytes = await readFile("model.keras");
 * const model = loadKerasModel(bytes, { weights: readKerasWeights(bytes) });
 */
export function readKerasWeights(bytes: Uint8Array): KerasWeights {
  if (isArchive(bytes)) return readHdf5(readArchiveWeights(bytes), "model.weights.h5 in the archive");
  if (isHdf5(bytes)) return readHdf5(bytes, "the HDF5 file");
  throw new RematError(
    "KERAS_WEIGHTS_FILE",
    'The weights are neither a .keras archive nor HDF5. Save them with Keras\' model.save_weights("model.weights.h5").',
  );
}

function readHdf5(bytes: Uint8Array, from: string): KerasWeights {
  return readingHdf5(bytes, from, (root): KerasWeights => {
    const legacy = root.keys.includes("model_weights") ? root.get("model_weights") : root;
    const names = attributeOf(legacy, "layer_names");
    if (names !== undefined) return { from, layout: "layers", layers: readLayers(legacy, [names].flat(), from) };
    if (root.keys.includes("layers")) return { from, layout: "objects", root: readObject(root, "", from) };
    throw new RematError(
      "KERAS_WEIGHTS_FILE",
      `${from}: contains ${root.keys.join(", ") || "nothing"}, expected layers, or model_weights with layer_names. ` +
        'Load the model in a newer Keras and save it again with model.save("model.keras").',
    );
  });
}

function readLayers(
  group: Hdf5Object,
  names: readonly string[],
  from: string,
): ReadonlyMap<string, readonly StoredArray[]> {
  return new Map(
    names.map((name) => {
      const layer = group.get(name);
      const weights = [attributeOf(layer, "weight_names") ?? []].flat();
      return [name, weights.map((weight) => arrayOf(layer, weight, `${name}/${weight}`, from))];
    }),
  );
}

/** Maximum nesting depth in Keras files. A group that contains itself would have no end. */
const mostDepth = 100;

/** Reads a group without optimizer state. */
function readObject(
  group: Hdf5Object,
  path: string,
  from: string,
  seen: Set<number> = new Set(),
  depth = 0,
): StoredObject {
  if (seen.has(group.address) || depth > mostDepth)
    throw new Error(`the group ${path} is in the file twice, or in itself`);
  seen.add(group.address);
  const objects = new Map<string, StoredObject>();
  let arrays: readonly StoredArray[] = [];
  for (const [name, inner] of groupsOf(group)) {
    const at = path === "" ? name : `${path}/${name}`;
    if (name === "vars")
      arrays = inner.keys
        .toSorted((a, b) => Number(a) - Number(b))
        .map((key) => arrayOf(inner, key, `${at}/${key}`, from));
    else if (at !== "optimizer") objects.set(name, readObject(inner, at, from, seen, depth + 1));
  }
  return { arrays, objects };
}
