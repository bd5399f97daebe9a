import { RematError } from "@remat/trace";
import { checkOptions, otherFloat, sentenceStart } from "./check-options.js";
import { checkParts } from "./check-parts.js";
import { checkPenalties, innerLayerFields } from "./check-penalties.js";
import { checkSizes } from "./check-sizes.js";
import { classSkeleton } from "./class-skeleton.js";
import { expectedInputShapes } from "./expected-shapes.js";
import { isObject, type JsonObject, ownField } from "./json.js";
import { applyAliases } from "./layer-aliases.js";
import { isRegistered, isSupplied } from "./layer-classes.js";
import { isModelClass, type LayerEntry, type LayerNotes, label } from "./layer-note.js";
import { KerasOperation } from "./layers/keras-operation.js";
import { corrupt } from "./read-topology.js";
import { refusedLayers } from "./refused-layers.js";
import { toTfjsCase } from "./to-tfjs-case.js";
import { functionName, isOperation, namedOperation } from "./understand-operation.js";

/** Classes that have another name in this package. */
const otherNames: Readonly<Record<string, string>> = {
  // tfjs-layers keeps layers and initializers in one table, in which this name is an initializer.
  Identity: "Activation",
  // Keras 3 writes this name in HDF5 files.
  GroupedQueryAttention: "GroupQueryAttention",
};

/** Reads a model used as a layer. This is `understandModel`, which calls this module's function for its layers. */
export type ReadModel = (entry: JsonObject, path: string, notes: LayerNotes) => LayerEntry;

/**
 * Reads one entry of `layers` (or of a wrapper), and returns it in the form that tfjs-layers deserializes. Notes are
 * stored by configuration object. Rejects layers that tfjs-layers lacks or would compute differently, with the layer's
 * name.
 */
export function understandLayer(entry: unknown, path: string, notes: LayerNotes, readModel: ReadModel): LayerEntry {
  if (!isObject(entry)) throw corrupt(path, entry, "a layer");
  const registered = entry["class_name"];
  if (typeof registered !== "string") throw corrupt(`${path}.class_name`, registered, "a layer's class");
  // Keras 2 writes the package of a registered class in front of its name.
  const written = isRegistered(registered) ? registered : registered.replace(/^.+>/, "");
  const className = ownField(otherNames, written) ?? written;
  const config = entry["config"];
  if (className === "Sequential" && Array.isArray(config)) return readModel(entry, path, notes);
  if (!isObject(config)) throw corrupt(`${path}.config`, config, "the configuration of a layer");
  const name = entry["name"] ?? config["name"];
  if (typeof name !== "string") throw corrupt(`${path}.config.name`, name, "a layer's name");
  if (isModelClass(className)) return readModel({ ...entry, config: { ...config, name } }, path, notes);

  if (isOperation(entry)) return understandFunction(entry, name, path, notes);
  checkClass(className, name, entry);
  const isKeras3 = isOfKeras3(entry, config);
  const inKeras = otherFloat(config);
  checkOptions(className, name, config);
  checkSizes(className, name, config);
  checkParts(className, name, config);
  if (written === "Identity") config["activation"] = "linear";
  applyAliases(className, config, isKeras3);
  checkPenalties(className, name, config);
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
  notes.set(converted, {
    name,
    className,
    path,
    inputShapes: expectedInputShapes(entry),
    isKeras3,
    otherFloat: inKeras,
  });
  return { className, name, config: converted };
}

/** Keras 3 writes a layer's dtype as a policy object, and the arguments of a call as an object. */
function isOfKeras3({ inbound_nodes: nodes }: JsonObject, { dtype }: JsonObject): boolean {
  return (isObject(dtype) && dtype["class_name"] === "DTypePolicy") || (Array.isArray(nodes) && nodes.some(isObject));
}

/** A call of a function becomes a layer. Its arguments are read later with the graph, once all layers are known. */
function understandFunction(entry: JsonObject, name: string, path: string, notes: LayerNotes): LayerEntry {
  const called = functionName(entry);
  if (namedOperation(entry) === undefined)
    throw new RematError(
      "KERAS_FUNCTION_UNKNOWN",
      `${sentenceStart(label({ name, className: entry["class_name"] as string }))} at ${path} calls the function ${called}, which is not supported. ` +
        "Use a layer (Add, Multiply, Activation, Reshape, …) or a supported function in Keras and export the model again.",
    );
  const config: JsonObject = { name };
  notes.set(config, {
    name,
    className: called,
    path,
    inputShapes: called.startsWith("tf.") ? [] : expectedInputShapes(entry, true),
    isKeras3: !called.startsWith("tf."),
  });
  return { className: KerasOperation.className, name, config };
}

/** Fields that may differ between the halves of a Bidirectional, including those that Keras numbers separately. */
const ofOneHalf = new Set(["name", "go_backwards", "seed", "shared_object_id"]);

/**
 * Returns the options to compare for the second half of a Bidirectional, which tfjs-layers makes as the mirror of the
 * first.
 */
function mirrored(config: JsonObject): string {
  return JSON.stringify(config, (field, value: unknown) => (ofOneHalf.has(field) ? undefined : value));
}

function checkMirrored(className: string, name: string, config: JsonObject): void {
  const { layer, backward_layer: backward } = config;
  delete config["backward_layer"];
  if (!isObject(layer) || !isObject(layer["config"]) || !isObject(backward) || !isObject(backward["config"])) return;
  if (layer["class_name"] === backward["class_name"] && mirrored(layer["config"]) === mirrored(backward["config"]))
    return;
  throw new RematError(
    "KERAS_OPTION_UNSUPPORTED",
    `${sentenceStart(label({ name, className }))} has a backward layer that is not the mirror of its forward layer, ` +
      "which is not supported. Use the same options for both in Keras and export the model again.",
  );
}

function checkClass(className: string, name: string, entry: JsonObject): void {
  if (isSupplied(className) || isRegistered(className)) return;
  const from = typeof entry["module"] === "string" ? ` of ${entry["module"]}` : "";
  const ownClass = `as a class with \`static className = "${className}"\` and call tf.serialization.registerClass before loading`;
  const reason = ownField(refusedLayers, className);
  const skeleton = reason === undefined ? classSkeleton(className, entry["config"]) : undefined;
  const next = className.endsWith("Lambda")
    ? "Use a layer (Add, Multiply, Activation, Rescaling, …) in Keras and export the model again."
    : reason === undefined
      ? `Write it ${ownClass}.${skeleton === undefined ? "" : ` Or pass it in \`layers\` (on the command line --layers my-layers.js):\n\n${skeleton}\n\nFill in what the layer computes.`}`
      : `Do that step before the model, or write it ${ownClass}.`;
  throw new RematError(
    "KERAS_LAYER_UNKNOWN",
    `tfjs-layers does not support ${label({ name, className })}: ${reason ?? `it has no such class${from}`}. ${next}`,
  );
}
