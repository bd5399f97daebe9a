import { isObject, type JsonObject } from "./json.js";
import { isShape, readKerasTensors } from "./keras-tensor.js";
import type { Shape } from "./layer-note.js";

/**
 * Returns the input shapes that Keras computed for each call of a layer. Keras 3 writes them with each call's arguments; Keras 2 has them in
 * `build_config`, which is of the first call.
 */
export function expectedInputShapes(entry: JsonObject): (readonly Shape[] | undefined)[] {
  const nodes = Array.isArray(entry["inbound_nodes"]) ? entry["inbound_nodes"] : [];
  const byCall = nodes.map((node) =>
    isObject(node) && Array.isArray(node["args"]) ? shapesOfCall(node["args"]) : undefined,
  );
  return byCall.some((shapes) => shapes !== undefined) ? byCall : [shapesOfBuild(entry["build_config"])];
}

function shapesOfCall(args: readonly unknown[]): Shape[] | undefined {
  const tensors = args.length === 1 ? readKerasTensors(args[0]) : readKerasTensors(args);
  const shapes = tensors?.map((tensor) => tensor.shape);
  return shapes?.every((shape) => shape !== undefined) ? shapes : undefined;
}

function shapesOfBuild(build: unknown): Shape[] | undefined {
  const shape = isObject(build) ? build["input_shape"] : undefined;
  if (isShape(shape)) return [shape];
  return Array.isArray(shape) && shape.length > 0 && shape.every(isShape) ? shape : undefined;
}
