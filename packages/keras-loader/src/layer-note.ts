import type { JsonObject } from "./json.js";

/** A shape as Keras writes it: null where the size is not known, as of the batch. */
export type Shape = readonly (number | null)[];

/** What the file says about one layer and its configuration for tfjs-layers cannot carry. */
export interface LayerNote {
  readonly name: string;
  readonly className: string;
  /** Where the layer stands in the file: `modelTopology.config.layers[3]`. */
  readonly path: string;
  /** Shapes of the inputs of each call, as Keras computed them; undefined where the file does not say. */
  readonly inputShapes: readonly (readonly Shape[] | undefined)[];
  /** Whether Keras 3 wrote it. */
  readonly isKeras3: boolean;
  /** The dtype in Keras, where it is another float than tfjs-layers computes in. */
  readonly otherFloat?: string | undefined;
}

/** A layer or model in the form that tfjs-layers deserializes. */
export interface LayerEntry {
  readonly className: string;
  readonly name: string;
  readonly config: JsonObject;
  readonly inboundNodes?: readonly InboundNode[];
}

/** One call of a layer: where each of its inputs comes from. */
export type InboundNode = readonly TensorReference[];

/** `[layer, call of that layer, which of its outputs, {}]`. */
export type TensorReference = readonly [string, number, number, JsonObject];

/** What is known of each layer, by the very configuration object that tfjs-layers will be handed. */
export type LayerNotes = Map<object, LayerNote>;

/** Tells whether a class is a model, that is, a layer made of layers. */
export function isModelClass(className: string): boolean {
  return className === "Functional" || className === "Model" || className === "Sequential";
}

/** Returns a layer's name and class as every message shows them. */
export function label(layer: { readonly name: string; readonly className: string }): string {
  return `layer '${layer.name}' (${layer.className})`;
}

/** Returns a shape as every message shows it, and several in the order of the inputs. */
export function showShapes(shapes: readonly Shape[]): string {
  return shapes.map((shape) => `[${shape.map((size) => size ?? "null").join(", ")}]`).join(" and ");
}
