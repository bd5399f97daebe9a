import type { LayersModel, layers, SymbolicTensor } from "@tensorflow/tfjs-layers";

type Layer = layers.Layer;
type Node = Layer["inboundNodes"][number];

/** Layers whose output contains values of their input unchanged. */
const handsOn = new Set(["Reshape", "Flatten", "Permute", "RepeatVector", "Dropout", "SpatialDropout1D"]);

/**
 * Returns for each input of a model the number of rows of the smallest embedding table that it indexes, or undefined if
 * it indexes none. The `Embedding` layer accepts indices of any dtype and rejects those beyond its table.
 */
export function embeddedInputs(model: LayersModel): readonly (number | undefined)[] {
  const rows = new Map<SymbolicTensor, number>();
  const note = (tensor: SymbolicTensor, count: number | undefined): void => {
    const source = sourceOf(tensor);
    if (count !== undefined) rows.set(source, Math.min(count, rows.get(source) ?? count));
  };
  for (const layer of model.layers) {
    const counts = "layers" in layer ? embeddedInputs(layer as LayersModel) : [rowsOf(layer)];
    for (const { inputTensors } of nodesOf(layer)) inputTensors.forEach((tensor, i) => note(tensor, counts[i]));
  }
  return model.inputs.map((input) => rows.get(sourceOf(input)));
}

function rowsOf(layer: Layer): number | undefined {
  if (layer.getClassName() !== "Embedding") return undefined;
  const { inputDim } = layer.getConfig();
  return typeof inputDim === "number" ? inputDim : undefined;
}

/** Returns the tensor that the values come from, before layers that pass values on unchanged. */
function sourceOf(tensor: SymbolicTensor): SymbolicTensor {
  const { sourceLayer, inputs } = tensor;
  const isHandedOn = inputs?.length === 1 && handsOn.has((sourceLayer as Layer | null)?.getClassName() ?? "");
  return isHandedOn ? sourceOf(inputs[0]) : tensor;
}

const nodesOf = (layer: Layer): readonly Node[] => layer.inboundNodes ?? [];
