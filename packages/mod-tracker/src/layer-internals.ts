import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import { layers } from "@tensorflow/tfjs-layers";

/** A layer of TensorFlow.js. Models are layers as well. */
export type Layer = layers.Layer;

/** A symbolic tensor of a model's graph. */
export interface GraphTensor {
  readonly id: number;
  readonly name: string;
  readonly sourceLayer: Layer;
  readonly inputs: readonly GraphTensor[];
}

/** A functional model or a Sequential. Calling it calls its layers in the order of its graph. */
export interface Container extends Layer {
  readonly layers: Layer[];
  readonly inputs: GraphTensor[] & never[];
  readonly outputs: GraphTensor[] & never[];
}

interface LayerVariable {
  read(): Variable;
}

export const isLayer = (value: unknown): value is Layer => value instanceof layers.Layer;

/**
 * Returns whether a layer has a graph of other layers. Your own layer may have a field `layers`, but no outputs. A
 * Sequential without a known input shape has no outputs yet.
 */
export const isContainer = (layer: Layer): layer is Container => {
  const { layers: parts, outputs } = layer as Partial<Container>;
  return Array.isArray(parts) && Array.isArray(outputs);
};

export const isInputLayer = (layer: Layer): boolean => layer.getClassName() === "InputLayer";

/** Returns a layer's own weights: trainable ones, including frozen ones, and non-trainable ones such as statistics. */
export function ownWeights(layer: Layer): { parameters: Variable[]; buffers: Variable[] } {
  const { _trainableWeights, _nonTrainableWeights } = layer as unknown as Record<string, readonly LayerVariable[]>;
  const read = (weights: readonly LayerVariable[] | undefined) => (weights ?? []).map((weight) => weight.read());
  return { parameters: read(_trainableWeights), buffers: read(_nonTrainableWeights) };
}

/** Returns the tensors among a layer's inputs or outputs. Undefined if they are symbolic, because then nothing runs. */
export function tensorsOf(values: unknown): readonly Tensor[] | undefined {
  const list = Array.isArray(values) ? values.flat() : [values];
  const tensors: Tensor[] = [];
  for (const value of list) {
    if (value === null || typeof value !== "object") continue;
    if ("sourceLayer" in value) return undefined;
    if ("dataId" in value) tensors.push(value as Tensor);
  }
  return tensors;
}
