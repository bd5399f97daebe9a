import { isObject } from "./json.js";
import type { Shape } from "./layer-note.js";

/** A tensor in the arguments of a Keras 3 node: its origin and its shape. */
export interface KerasTensor {
  readonly history: readonly [string, number, number];
  readonly shape: Shape | undefined;
}

/** Reads the object that Keras 3 writes for a symbolic tensor. Undefined for anything else. */
export function readKerasTensor(value: unknown): KerasTensor | undefined {
  if (!isObject(value) || value["class_name"] !== "__keras_tensor__" || !isObject(value["config"])) return undefined;
  const history = value["config"]["keras_history"];
  if (!isReference(history)) return undefined;
  const shape = value["config"]["shape"];
  return { history, shape: isShape(shape) ? shape : undefined };
}

/** Returns the symbolic tensors of a node's first argument: one, or a list for merging layers. */
export function readKerasTensors(argument: unknown): KerasTensor[] | undefined {
  const values = Array.isArray(argument) ? argument : [argument];
  const tensors = values.map(readKerasTensor);
  return tensors.length > 0 && tensors.every((tensor) => tensor !== undefined) ? tensors : undefined;
}

/** Returns whether a value is `[layer, call, output]`, optionally followed by keyword arguments. */
export function isReference(value: unknown): value is readonly [string, number, number] {
  return (
    Array.isArray(value) && typeof value[0] === "string" && Number.isInteger(value[1]) && Number.isInteger(value[2])
  );
}

/** Returns whether a value is a shape. */
export function isShape(value: unknown): value is Shape {
  return Array.isArray(value) && value.every((size) => size === null || typeof size === "number");
}
