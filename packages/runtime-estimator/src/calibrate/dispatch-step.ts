import type { ModelDefinition } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs-core";

const width = 4;
const depth = 12;

/**
 * A training step of tiny ops, whose time outside of kernels is the framework's: the tape, tidies, gradients, the
 * optimizer.
 */
export function dispatchStep(): ModelDefinition {
  const parameters = Object.fromEntries(
    Array.from({ length: depth }, (_, layer) => [
      [`weight${layer}`, parameter(() => tf.randomUniform([width, width], 0.1, 1, "float32", 1))] as const,
      [`bias${layer}`, parameter(() => tf.zeros([width]))] as const,
    ]).flat(),
  );
  return {
    name: "dispatch",
    parameters,
    inputs: tf.ones([width, width]),
    forward: (x: tf.Tensor) => {
      let y = x;
      for (let layer = 0; layer < depth; layer++) {
        const sums = tf.add(tf.matMul(y, parameters[`weight${layer}`]), parameters[`bias${layer}`]);
        y = tf.mul(tf.sigmoid(sums), tf.tanh(y));
      }
      return y;
    },
  };
}

/** A variable, without the tensor that it copies. */
const parameter = (initial: () => tf.Tensor): tf.Variable => tf.tidy(() => tf.variable(initial()));
