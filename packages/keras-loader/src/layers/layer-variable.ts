import type { Variable } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";

/** Returns the variable of a layer's weight, which tfjs-layers hides. */
export function variableOf(weight: LayerVariable): Variable {
  return (weight as unknown as { readonly val: Variable }).val;
}
