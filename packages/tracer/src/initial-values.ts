import * as tf from "@tensorflow/tfjs-core";
import type { ModelDefinition } from "./model-definition.js";

/** What of the engine says who holds a buffer. */
interface Engine {
  readonly backend: { refCount(dataId: object): number; incRef(dataId: object): void };
  makeTensorFromTensorInfo(info: tf.TensorInfo): tf.Tensor;
}

/**
 * Returns tensors on the initial values of a model's variables that somebody still has: `tf.variable(tf.randomNormal([64, 64]))` leaves the tensor that
 * it was made of, so that each update after the first, which puts the variable on data of its own, leaves these where they are. They hold nothing
 * more themselves; the caller disposes of them.
 */
export function heldInitialValues({ model, parameters = {} }: ModelDefinition): tf.Tensor[] {
  const engine = tf.engine() as unknown as Engine;
  // tfjs-layers keeps its variables in a field that its types hide.
  const ofLayers = (model?.weights ?? []).map((weight) => (weight as unknown as { readonly val: tf.Variable }).val);
  const variables = new Set([...ofLayers, ...Object.values(parameters)]);
  return [...variables]
    .filter((variable) => variable.trainable && engine.backend.refCount(variable.dataId) > 1)
    .map(({ dataId, shape, dtype }) => {
      engine.backend.incRef(dataId);
      return engine.makeTensorFromTensorInfo({ dataId, shape, dtype });
    });
}
