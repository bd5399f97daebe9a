import { isObject, type JsonObject } from "./json.js";
import { isShape, readKerasTensors } from "./keras-tensor.js";
import type { Shape } from "./layer-note.js";

/**
 * Returns the input shapes that Keras computed for each call of a layer. Keras 3 writes them with each call's
 * arguments. Keras 2 writes those of the first call in `build_config`.
 *
 * @param isOnce whether a tensor that is passed several times is one input of the layer here
 */
export function expectedInputShapes(entry: JsonObject, isOnce = false): (readonly Shape[] | undefined)[] {
  const nodes = Array.isArray(entry["inbound_nodes"]) ? entry["inbound_nodes"] : [];
  const byCall = nodes.map((node) =>
    isObject(node) && Array.isArray(node["args"]) ? shapesOfCall(node["args"], isOnce) : undefined,
  );
  return byCall.some((shapes) => shapes !== undefined) ? byCall : [shapesOfBuild(entry["build_config"])];
}

function shapesOfCall(args: readonly unknown[], isOnce: boolean): Shape[] | undefined {
  const tensors = args.length === 1 ? readKerasTensors(args[0]) : readKerasTensors(args);
  const inputs = isOnce ? [...new Map(tensors?.map((tensor) => [String(tensor.history), tensor])).values()] : tensors;
  const shapes = inputs?.map((tensor) => tensor.shape);
  return tensors !== undefined && shapes?.every((shape) => shape !== undefined) ? shapes : undefined;
}

function shapesOfBuild(build: unknown): Shape[] | undefined {
  const shape = isObject(build) ? build["input_shape"] : undefined;
  if (isShape(shape)) return [shape];
  return Array.isArray(shape) && shape.length > 0 && shape.every(isShape) ? shape : undefined;
}
