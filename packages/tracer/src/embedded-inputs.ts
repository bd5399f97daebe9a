import type { LayersModel, layers, SymbolicTensor } from "@tensorflow/tfjs-layers";

type Layer = layers.Layer;
type Node = Layer["inboundNodes"][number];

/** Layers whose output holds values of their input as they are. */
const handsOn = new Set(["Reshape", "Flatten", "Permute", "RepeatVector", "Dropout", "SpatialDropout1D"]);

/**
 * Returns for each input of a model how many rows the smallest table has whose rows it numbers, undefined where it numbers none: tfjs's `Embedding` takes
 * numbers of any dtype, and refuses those beyond its table.
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

/** Where the values of a tensor come from as they are. */
function sourceOf(tensor: SymbolicTensor): SymbolicTensor {
  const { sourceLayer, inputs } = tensor;
  const isHandedOn = inputs?.length === 1 && handsOn.has((sourceLayer as Layer | null)?.getClassName() ?? "");
  return isHandedOn ? sourceOf(inputs[0]) : tensor;
}

const nodesOf = (layer: Layer): readonly Node[] => layer.inboundNodes ?? [];
