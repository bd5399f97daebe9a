import { isObject, type JsonObject } from "./json.js";
import { readKerasTensors } from "./keras-tensor.js";

/** Operators that Keras 3 writes as `keras.ops` classes and that have a merging layer of the same name. */
const merging = new Set(["Add", "Multiply", "Maximum", "Minimum"]);

/** Tells whether an entry of `layers` is a function of `keras.ops` (`x + y`, `ops.relu(x)`) rather than a layer. */
export function isOperation(entry: JsonObject): boolean {
  return typeof entry["module"] === "string" && /^keras(\.src)?\.ops\b/.test(entry["module"]);
}

/**
 * Tells whether an operation is what the merging layer of its name does: every call has two tensors of one rank. (Of different ranks, operators
 * align the last axes and merging layers the first.)
 */
export function isMergingOperation(entry: JsonObject): boolean {
  const nodes = entry["inbound_nodes"];
  return (
    merging.has(entry["class_name"] as string) &&
    Array.isArray(nodes) &&
    nodes.every((node) => isObject(node) && mergesTwo(node["args"]))
  );
}

function mergesTwo(args: unknown): boolean {
  const tensors = Array.isArray(args) && args.length === 2 ? readKerasTensors(args) : undefined;
  return tensors !== undefined && tensors[0]?.shape?.length === tensors[1]?.shape?.length;
}
