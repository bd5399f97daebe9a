import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import { layers } from "@tensorflow/tfjs-layers";

/** A tfjs layer; models are layers, too. */
export type Layer = layers.Layer;

/** A tensor of a model's graph. */
export interface GraphTensor {
  readonly id: number;
  readonly name: string;
  readonly sourceLayer: Layer;
  readonly inputs: readonly GraphTensor[];
}

/** A functional model or a Sequential, nested or not: calling it calls its layers in the order of its graph. */
export interface Container extends Layer {
  readonly layers: Layer[];
  readonly inputs: GraphTensor[] & never[];
  readonly outputs: GraphTensor[] & never[];
}

interface LayerVariable {
  read(): Variable;
}

export const isLayer = (value: unknown): value is Layer => value instanceof layers.Layer;

/** A Sequential without a layer that knows its input shape has no graph yet, and no outputs. */
export const isContainer = (layer: Layer): layer is Container => Array.isArray((layer as Partial<Container>).layers);

export const isInputLayer = (layer: Layer): boolean => layer.getClassName() === "InputLayer";

/** Bookkeeping of tfjs-layers that leads to other layers, but not to parts of this one. */
const notParts: ReadonlySet<string> = new Set(["inboundNodes", "outboundNodes", "inputs", "outputs", "model"]);

/**
 * Returns the layers that `layer` is made of, by the names that go into their FQN: those of a container by their own names, else by the attribute
 * that holds them (`cell`, `forwardLayer`, `cells.0`).
 */
export function partsOf(layer: Layer): [name: string, part: Layer][] {
  if (isContainer(layer)) return layer.layers.map((part) => [part.name, part]);
  const parts: [string, Layer][] = [];
  for (const [name, value] of Object.entries(layer)) {
    if (notParts.has(name)) continue;
    const plain = name.replace(/^_+/, "");
    if (isLayer(value)) parts.push([plain, value]);
    else if (Array.isArray(value))
      value.forEach((item, i) => {
        if (isLayer(item)) parts.push([`${plain}.${i}`, item]);
      });
  }
  return parts;
}

/** Returns a layer's own weights: those made to be trained, frozen or not, and those that training does not change by gradients. */
export function ownWeights(layer: Layer): { parameters: Variable[]; buffers: Variable[] } {
  const { _trainableWeights, _nonTrainableWeights } = layer as unknown as Record<string, readonly LayerVariable[]>;
  const read = (weights: readonly LayerVariable[] | undefined) => (weights ?? []).map((weight) => weight.read());
  return { parameters: read(_trainableWeights), buffers: read(_nonTrainableWeights) };
}

/** Returns the tensors among a layer's inputs or outputs; undefined if they are symbolic, for then nothing runs. */
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
