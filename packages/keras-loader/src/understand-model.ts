import { RematError } from "@remat/trace";
import { checkGraph } from "./check-graph.js";
import { expectedInputShapes } from "./expected-shapes.js";
import { isObject, type JsonObject } from "./json.js";
import { isReference } from "./keras-tensor.js";
import { isModelClass, type LayerEntry, type LayerNotes, type TensorReference } from "./layer-note.js";
import { corrupt, join, type Topology } from "./read-topology.js";
import { understandLayer } from "./understand-layer.js";
import { understandNodes } from "./understand-nodes.js";
import { functionName, isOperation, namedOperation, understandOperation } from "./understand-operation.js";

/** Reads the model of a file, with the caller's name if there is one. */
export function understandTopology(
  { config, path }: Topology,
  name: string | undefined,
  notes: LayerNotes,
): LayerEntry {
  const className = config["class_name"] as string;
  if (!isModelClass(className)) {
    throw new RematError(
      "KERAS_MODEL_UNKNOWN",
      `${className} is not supported as a Keras topology; only Functional, Model and Sequential are. ` +
        "A subclassed model has no topology: rebuild it with Keras' functional API.",
    );
  }
  const model = understandModel(config, path, notes);
  return name === undefined ? model : rename(model, name);
}

function rename(model: LayerEntry, name: string): LayerEntry {
  model.config["name"] = name;
  return { ...model, name };
}

/**
 * Reads a Keras 2 or Keras 3 model, or one used as a layer, and returns it in the form that tfjs-layers deserializes.
 */
export function understandModel(entry: JsonObject, path: string, notes: LayerNotes): LayerEntry {
  const className = entry["class_name"] as string;
  const configPath = join(path, "config");
  // A Sequential of early Keras versions is just the list of its layers.
  const config = Array.isArray(entry["config"]) ? { layers: entry["config"] } : entry["config"];
  if (!isObject(config)) throw corrupt(configPath, config, "the configuration of a model");
  const entries = config["layers"];
  if (!Array.isArray(entries) || entries.length === 0)
    throw corrupt(`${configPath}.layers`, entries, "a list of at least one layer");
  const name = typeof config["name"] === "string" ? config["name"] : className.toLowerCase();
  const layers = entries.map((layer, i) =>
    understandLayer(layer, `${configPath}.layers[${i}]`, notes, understandModel),
  );
  const converted =
    className === "Sequential" ? { name, layers } : understandGraph(config, layers, entries, configPath, name);
  if (typeof config["trainable"] === "boolean") Object.assign(converted, { trainable: config["trainable"] });
  notes.set(converted, { name, className, path, inputShapes: expectedInputShapes(entry), isKeras3: false });
  return { className, name, config: converted };
}

function understandGraph(
  config: JsonObject,
  layers: LayerEntry[],
  entries: JsonObject[],
  path: string,
  name: string,
): JsonObject {
  const classes = new Map(layers.map((layer) => [layer.name, layer.className]));
  const connected = layers.map((layer, i): LayerEntry => {
    const context = { name: layer.name, className: layer.className, path: `${path}.layers[${i}]`, classes };
    const entry = entries[i] as JsonObject;
    const named = isOperation(entry) ? namedOperation(entry) : undefined;
    if (named !== undefined) {
      const { nodes, ...call } = understandOperation(entry, named, { ...context, className: functionName(entry) });
      Object.assign(layer.config, call);
      return { ...layer, inboundNodes: nodes };
    }
    const { nodes, options } = understandNodes(entries[i]?.["inbound_nodes"], context);
    // Files saved by tfjs-layers have these options in the configuration.
    Object.assign(layer.config, { ...options, ...layer.config });
    return { ...layer, inboundNodes: nodes };
  });
  const isKeras3 = entries.some(
    (entry) => Array.isArray(entry["inbound_nodes"]) && entry["inbound_nodes"].some(isObject),
  );
  const ends = (field: string): TensorReference[] =>
    readEnds(config[field], `${path}.${field}`).map(([from, call, output]) => [
      from,
      // Keras 3 counts the construction of a Functional as its call 0, as tfjs-layers does, but not that of a
      // Sequential.
      isKeras3 && classes.get(from) === "Sequential" ? call + 1 : call,
      output,
      {},
    ]);
  const inputLayers = ends("input_layers");
  const outputLayers = ends("output_layers");
  checkGraph(connected, [...inputLayers, ...outputLayers], path);
  return { name, layers: connected, inputLayers, outputLayers };
}

/**
 * Reads the model's inputs or outputs: a list of references or, in Keras 3, also one reference or an object of
 * references by name.
 */
function readEnds(value: unknown, path: string): readonly (readonly [string, number, number])[] {
  const ends = isReference(value) ? [value] : isObject(value) ? Object.values(value) : value;
  if (Array.isArray(ends) && ends.length > 0 && ends.every(isReference)) return ends;
  throw corrupt(path, value, "[[layer, call, output], …]");
}
