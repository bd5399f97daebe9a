import { RematError } from "@remat/trace";
import { checkOptions, sentenceStart } from "./check-options.js";
import { checkSizes } from "./check-sizes.js";
import { expectedInputShapes } from "./expected-shapes.js";
import { isObject, type JsonObject } from "./json.js";
import { applyAliases } from "./layer-aliases.js";
import { isRegistered, isSupplied } from "./layer-classes.js";
import { isModelClass, type LayerEntry, type LayerNotes, label } from "./layer-note.js";
import { isMergingOperation, isOperation } from "./operators.js";
import { corrupt } from "./read-topology.js";
import { toTfjsCase } from "./to-tfjs-case.js";

/** Fields of a wrapper's configuration that hold layers of their own. */
const innerLayerFields = ["layer", "cell", "cells"];

/** Reads a model that is used as a layer: `understandModel`, which reads layers in turn. */
export type ReadModel = (entry: JsonObject, path: string, notes: LayerNotes) => LayerEntry;

/**
 * Reads one entry of `layers` (or of a wrapper) and gives it back as tfjs-layers deserializes it, noting by its configuration object what
 * Keras says of it. Refuses what tfjs-layers lacks or would compute differently, by the layer's name.
 */
export function understandLayer(entry: unknown, path: string, notes: LayerNotes, readModel: ReadModel): LayerEntry {
  if (!isObject(entry)) throw corrupt(path, entry, "a layer");
  const className = entry["class_name"];
  if (typeof className !== "string") throw corrupt(`${path}.class_name`, className, "a layer's class");
  const config = entry["config"];
  if (className === "Sequential" && Array.isArray(config)) return readModel(entry, path, notes);
  if (!isObject(config)) throw corrupt(`${path}.config`, config, "the configuration of a layer");
  const name = entry["name"] ?? config["name"];
  if (typeof name !== "string") throw corrupt(`${path}.config.name`, name, "a layer's name");
  if (isModelClass(className)) return readModel({ ...entry, config: { ...config, name } }, path, notes);

  checkClass(className, name, entry);
  checkOptions(className, name, config);
  checkSizes(className, name, config);
  applyAliases(className, config);
  checkMirrored(className, name, config);
  const inner: JsonObject = {};
  for (const field of innerLayerFields) {
    const value = config[field];
    if (value === undefined || value === null) continue;
    inner[field] = Array.isArray(value)
      ? value.map((each, i) => understandLayer(each, `${path}.config.${field}[${i}]`, notes, readModel))
      : understandLayer(value, `${path}.config.${field}`, notes, readModel);
    delete config[field];
  }
  const converted = { ...toTfjsCase(config), ...inner, name };
  notes.set(converted, { name, className, path, inputShapes: expectedInputShapes(entry) });
  return { className, name, config: converted };
}

/** The options of a Bidirectional's second half, which tfjs-layers makes by itself as the mirror of the first. */
function mirrored(config: JsonObject): string {
  return JSON.stringify({ ...config, name: null, go_backwards: null, seed: null });
}

function checkMirrored(className: string, name: string, config: JsonObject): void {
  const { layer, backward_layer: backward } = config;
  delete config["backward_layer"];
  if (!isObject(layer) || !isObject(layer["config"]) || !isObject(backward) || !isObject(backward["config"])) return;
  if (layer["class_name"] === backward["class_name"] && mirrored(layer["config"]) === mirrored(backward["config"]))
    return;
  throw new RematError(
    "KERAS_OPTION_UNSUPPORTED",
    `${sentenceStart(label({ name, className }))} has a backward layer that is not the mirror of its forward layer, the only one that ` +
      "tfjs-layers can make. Give both halves the same options in Keras and export the model again.",
  );
}

function checkClass(className: string, name: string, entry: JsonObject): void {
  const known = isSupplied(className) || isRegistered(className);
  if (isOperation(entry) ? isMergingOperation(entry) : known) return;
  const isFunction = isOperation(entry) || className.endsWith("Lambda");
  const from = typeof entry["module"] === "string" ? ` of ${entry["module"]}` : "";
  throw new RematError(
    "KERAS_LAYER_UNKNOWN",
    `tfjs-layers cannot make ${label({ name, className })}: ${isFunction ? `it is a call of a function${from}, not a layer` : `it has no such class${from}`}. ` +
      (isFunction
        ? "Write that step as a layer in Keras (Add, Multiply, Activation, Rescaling, …) and export the model again."
        : `Write it as a class with \`static className = "${className}"\` and call tf.serialization.registerClass before loading.`),
  );
}
