import { elementsOf } from "@remat/trace";
import type { TensorType } from "../op-call.js";
import type { FlopFormula } from "./call-arguments.js";

/** Every weight matrix meets each position of the sequences once, with two FLOPs for each of its elements. */
function recurrentFlops(input: readonly number[], weights: readonly (TensorType | undefined)[]): number {
  const positions = elementsOf(input.length === 0 ? [0] : input.slice(0, -1));
  let elements = 0;
  for (const weight of weights) if (weight?.shape.length === 2) elements += elementsOf(weight.shape);
  return 2 * positions * elements;
}

/** All layers and directions of a recurrent network on a GPU. Biases in the list of weights are vectors. */
export const gpuRecurrence: FlopFormula = (a) => recurrentFlops(a.shape(0, "input"), a.tensors(1, "weight"));

/** One layer and direction of a recurrent network on a CPU: the weights of the input and of the hidden state. */
const layer =
  (firstWeight: string, secondWeight: string): FlopFormula =>
  (a) =>
    recurrentFlops(a.shape(0, "input"), [a.tensor(1, firstWeight), a.tensor(2, secondWeight)]);

export const oneDnnLayer: FlopFormula = layer("weight0", "weight1");

const oneDnnGradientLayer: FlopFormula = layer("weight1", "weight2");

/** The gradients of the inputs and of the weights take as many FLOPs each as the forward pass. */
export const oneDnnLayerBackward: FlopFormula = (a) => 2 * oneDnnGradientLayer(a);

/** See {@link oneDnnLayerBackward}. The fourth entry of the mask is for the weights. */
export function gpuRecurrenceBackward(maskPosition: number): FlopFormula {
  return (a) => {
    const mask = a.value(maskPosition, "output_mask");
    const wantsWeights = !Array.isArray(mask) || mask[3] === true;
    return (wantsWeights ? 2 : 1) * gpuRecurrence(a);
  };
}
