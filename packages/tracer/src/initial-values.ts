import { tensorsOnData } from "@remat/dispatch-hook/fake";
import { clone, type Tensor, type Variable } from "@tensorflow/tfjs-core";
import type { ModelDefinition } from "./model-definition.js";

/**
 * Returns tensors that stand for the initial values of a model's variables that somebody still has: `tf.variable(tf.randomNormal([64, 64]))` leaves the
 * tensor that it was made of, so that each update after the first, which puts the variable on data of its own, leaves these where they are. The caller
 * disposes of them.
 */
export function heldInitialValues({ model, parameters = {} }: ModelDefinition): Tensor[] {
  // tfjs-layers keeps its variables in a field that its types hide.
  const ofLayers = (model?.weights ?? []).map((weight) => (weight as unknown as { readonly val: Variable }).val);
  const variables = new Set([...ofLayers, ...Object.values(parameters)]);
  return [...variables]
    .filter((variable) => variable.trainable && tensorsOnData(variable.dataId) > 1)
    .map((variable) => clone(variable));
}
