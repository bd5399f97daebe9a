import { parseJsonText, RematError } from "@remat/trace";
import { type Compilation, readCompilation } from "./compilation/read-compilation.js";
import { isObject, type JsonObject, show } from "./json.js";
import { isArchive, readArchive } from "./read-archive.js";

/** A model's configuration, and its path in the file for messages. */
export interface Topology {
  readonly config: JsonObject;
  readonly path: string;
  /** Training configuration, if the file has one. */
  readonly compilation: Compilation | undefined;
}

/**
 * Finds the model in a file: a `model.json` of tfjs-layers (`modelTopology` with or without `model_config`), the output
 * of Keras' `model.to_json()`, or the `config.json` of a `.keras` archive, as text or parsed. The bytes of such a file
 * or archive also work. The object passed in is not changed.
 */
export function readTopology(source: string | Uint8Array | object): Topology {
  const given = source instanceof Uint8Array ? textOf(source) : source;
  const file = typeof given === "string" ? parseText(given) : structuredClone(given as JsonObject);
  if (!isObject(file)) throw corrupt("the file", file, "a JSON object");
  if (file["format"] === "graph-model" || isGraph(file["modelTopology"])) {
    throw new RematError(
      "KERAS_GRAPH_MODEL",
      "This model.json is a graph model (a frozen TensorFlow graph), which has no layers. " +
        "Convert the Keras model itself with `tensorflowjs_converter --output_format tfjs_layers_model`.",
    );
  }
  return findModel(file, "", undefined);
}

const textOf = (bytes: Uint8Array): string => (isArchive(bytes) ? readArchive(bytes) : new TextDecoder().decode(bytes));

function findModel(value: JsonObject, path: string, outer: Compilation | undefined): Topology {
  const compilation = readCompilation(value) ?? outer;
  for (const field of ["modelTopology", "model_config"]) {
    const inner = value[field];
    if (inner === undefined || inner === null) continue;
    // h5py writes the configuration as a string attribute, and some converters keep it as a string.
    const parsed = typeof inner === "string" ? parseText(inner) : inner;
    if (!isObject(parsed)) throw corrupt(join(path, field), inner, "a JSON object");
    return findModel(parsed, join(path, field), compilation);
  }
  if (typeof value["class_name"] !== "string")
    throw corrupt(join(path, "class_name"), value["class_name"], "a model's class");
  return { config: value, path, compilation };
}

function parseText(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (cause) {
    const hint =
      text === ""
        ? "It is empty: save or copy it again."
        : text.startsWith("PK")
          ? "This is a .keras archive: give its bytes, not text."
          : text.includes("HDF\r\n")
            ? "This is an HDF5 file: pass the result of readHdf5Topology of @remat/keras-loader/weights."
            : "Give the text of a tfjs-layers model.json or of Keras' model.to_json().";
    throw new RematError("KERAS_NOT_JSON", `The Keras model is not JSON (${(cause as Error).message}). ${hint}`, {
      cause,
    });
  }
}

function isGraph(topology: unknown): boolean {
  return isObject(topology) && Array.isArray(topology["node"]);
}

/** Returns the error for a field that is missing or of the wrong type. */
export function corrupt(path: string, found: unknown, expected: string): RematError {
  return new RematError(
    "KERAS_CORRUPT",
    `Keras topology: ${path} is ${found === undefined ? "missing" : show(found)}, expected ${expected}. ` +
      "Export the model again with model.to_json() or tensorflowjs_converter.",
  );
}

/** Joins two parts of a path as `a.b`. The first may be empty. */
export function join(path: string, field: string): string {
  return path === "" ? field : `${path}.${field}`;
}
