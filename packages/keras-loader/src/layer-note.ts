import type { JsonObject } from "./json.js";

/** A shape in Keras' notation. null means an unknown size, such as that of the batch. */
export type Shape = readonly (number | null)[];

/** Information in the file about a layer that its tfjs-layers configuration cannot contain. */
export interface LayerNote {
  readonly name: string;
  readonly className: string;
  /** Path of the layer in the file, such as `modelTopology.config.layers[3]`. */
  readonly path: string;
  /** Input shapes of each call, as Keras computed them. Undefined if the file does not contain them. */
  readonly inputShapes: readonly (readonly Shape[] | undefined)[];
  /** True if Keras 3 wrote it. */
  readonly isKeras3: boolean;
  /** The dtype in Keras, if it is a floating-point dtype other than float32. */
  readonly otherFloat?: string | undefined;
}

/** A layer or model in the form that tfjs-layers deserializes. */
export interface LayerEntry {
  readonly className: string;
  readonly name: string;
  readonly config: JsonObject;
  readonly inboundNodes?: readonly InboundNode[];
}

/** One call of a layer: the origin of each input. */
export type InboundNode = readonly TensorReference[];

/** `[layer, index of its call, index of the output, {}]`. */
export type TensorReference = readonly [string, number, number, JsonObject];

/** Notes about layers, by the configuration object that tfjs-layers receives. */
export type LayerNotes = Map<object, LayerNote>;

/** Returns whether a class is a model, that is, a layer made of layers. */
export function isModelClass(className: string): boolean {
  return className === "Functional" || className === "Model" || className === "Sequential";
}

/** Returns a layer's name and class as all messages show them. */
export function label(layer: { readonly name: string; readonly className: string }): string {
  return `layer '${layer.name}' (${layer.className})`;
}

/** Returns shapes as all messages show them, in the order of the inputs. */
export function showShapes(shapes: readonly Shape[]): string {
  return shapes.map((shape) => `[${shape.map((size) => size ?? "null").join(", ")}]`).join(" and ");
}
