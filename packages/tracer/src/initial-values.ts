import { tensorsOnData } from "@remat/dispatch-hook/fake";
import { clone, type Tensor, type Variable } from "@tensorflow/tfjs-core";
import type { ModelDefinition } from "./model-definition.js";

/**
 * Returns tensors for initial values of variables that other code still references.
 * `tf.variable(tf.randomNormal([64, 64]))` keeps the initial tensor alive. The first update gives the variable new
 * data, so the initial values stay in memory. The caller must dispose of the returned tensors.
 */
export function heldInitialValues({ model, parameters = {} }: ModelDefinition): Tensor[] {
  // tfjs-layers keeps its variables in a field that its types hide.
  const ofLayers = (model?.weights ?? []).map((weight) => (weight as unknown as { readonly val: Variable }).val);
  const variables = new Set([...ofLayers, ...Object.values(parameters)]);
  return [...variables]
    .filter((variable) => variable.trainable && tensorsOnData(variable.dataId) > 1)
    .map((variable) => clone(variable));
}
