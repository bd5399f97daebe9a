import type { LayersModel, LayerVariable } from "@tensorflow/tfjs-layers";
import { isObject } from "../json.js";
import type { LayerEntry } from "../layer-note.js";
import type { Layer } from "../layers/layer-class.js";

/** Data of a layer in the file that identify its weights. `layers` are the layers of a model in Keras' order. */
export interface FileLayer {
  readonly name: string;
  readonly className: string;
  readonly layers: readonly FileLayer[];
  /** Layers inside a wrapper or a recurrent layer, by field. */
  readonly inner: ReadonlyMap<string, readonly FileLayer[]>;
}

/** A built layer and its data in the file. */
export interface WeightedLayer {
  readonly layer: Layer;
  readonly file: FileLayer;
}

const innerFields = ["layer", "cell", "cells"];

/** Copies the data that identify a layer's weights, since tfjs-layers takes entries apart. */
export function fileLayer({ name, className, config }: LayerEntry): FileLayer {
  const entriesOf = (field: string): FileLayer[] =>
    [config[field]].flat().flatMap((entry) => (isObject(entry) ? [fileLayer(entry as unknown as LayerEntry)] : []));
  return {
    name,
    className,
    layers: entriesOf("layers"),
    inner: new Map(innerFields.map((field) => [field, entriesOf(field)])),
  };
}

/** Returns the layers of a model in Keras' order. Undefined for a layer that is not a model. */
export function layersOf({ layer, file }: WeightedLayer): readonly WeightedLayer[] | undefined {
  if (file.layers.length === 0) return undefined;
  const byName = new Map((layer as LayersModel).layers.map((each) => [each.name, each]));
  return file.layers.flatMap((each) => {
    const inner = byName.get(each.name);
    return inner === undefined ? [] : [{ layer: inner, file: each }];
  });
}

/** Fields of layers that contain other layers. */
interface Wrapping {
  readonly layer?: Layer;
  readonly cell?: Layer;
  readonly cells?: readonly Layer[];
  readonly forwardLayer?: Layer;
  readonly backwardLayer?: Layer;
}

/** Returns the layers inside a wrapper or a recurrent layer, by field name in Keras. */
export function innerLayers({ layer, file }: WeightedLayer): readonly (readonly [field: string, WeightedLayer[]])[] {
  const { layer: inner, cell, cells, forwardLayer, backwardLayer } = layer as unknown as Wrapping;
  const fields: readonly (readonly [field: string, layers: readonly (Layer | undefined)[], inFile: string])[] =
    forwardLayer === undefined
      ? [
          ["layer", [inner], "layer"],
          ["cell", [cell], "cell"],
          ["cells", cells ?? [], "cells"],
        ]
      : [
          ["forward_layer", [forwardLayer], "layer"],
          ["backward_layer", [backwardLayer], "layer"],
        ];
  return fields.flatMap(([field, layers, inFile]) => {
    const held = layers.flatMap((each, i) =>
      each === undefined ? [] : [{ layer: each, file: file.inner.get(inFile)?.[i] ?? unnamedLayer(each) }],
    );
    return held.length === 0 ? [] : [[field, held] as const];
  });
}

/** Returns data for a cell that the file does not name. */
function unnamedLayer(layer: Layer): FileLayer {
  return { name: layer.name, className: layer.getClassName(), layers: [], inner: new Map() };
}

/** Returns the weights of a layer that do not belong to nested layers. */
export function outerWeights(weighted: WeightedLayer): readonly LayerVariable[] {
  const inner = new Set(innerLayers(weighted).flatMap(([, layers]) => layers.flatMap(({ layer }) => layer.weights)));
  return weighted.layer.weights.filter((weight) => !inner.has(weight));
}

/** Returns all weights of a layer, grouped by nested layer. */
export function weightsInOrder(weighted: WeightedLayer): readonly LayerVariable[] {
  const layers = layersOf(weighted);
  if (layers !== undefined) return layers.flatMap(weightsInOrder);
  return [...outerWeights(weighted), ...innerLayers(weighted).flatMap(([, inner]) => inner.flatMap(weightsInOrder))];
}
