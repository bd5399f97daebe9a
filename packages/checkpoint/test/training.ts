import { createHash } from "node:crypto";
import { defineModel, type ModelDefinition, SeededRandom, tfNamespace, trainableVariables } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";

/** Models of examples/, small. */
export const exampleNames: readonly string[] = [
  "foo",
  "transformer",
  "gpt-2",
  "gpt-3",
  "resnet50",
  "mobilenet-v1",
  "mobilenet-v2",
  "efficientnet-b0",
  "lstm",
  "u-net",
  "shared-layers",
];

/** A step as {@link train} takes it: an update of its own, and the sum of the outputs for a model that brings no loss. */
export const gradientsOnly = { optimizer: "none", loss: "sum" } as const;

export async function exampleNamed(name: string): Promise<unknown> {
  return ((await import(`../../../examples/${name}/model.js`)) as { default: unknown }).default;
}

/** Runs `run`, synchronous or not, with all that tfjs draws coming from a seed. */
export const seeded = <T>(seed: number, run: () => T): T => new SeededRandom(seed).run(run);

/** Digest of the tensor's bytes, so that a difference of one bit shows. */
const digest = (tensor: tf.Tensor): string => {
  const { buffer, byteOffset, byteLength } = tensor.dataSync();
  return createHash("sha256")
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest("hex");
};

export interface Trained {
  /** Loss and gradients of each step, and all weights after the last, each by a digest of its bytes. */
  readonly values: readonly (readonly [name: string, digest: string])[];
  /** Totals except the weights: `numTensors`, `numBytes`, `numDataBuffers`. */
  readonly left: readonly number[];
}

/** Builds a model and trains it; `around` runs each step. */
export async function train(
  exported: unknown,
  { steps = 2, size = "tiny", batch }: { steps?: number; size?: "tiny" | "full"; batch?: number } = {},
  around: (step: () => void, index: number) => void = (step) => step(),
): Promise<Trained> {
  const definition = await seeded(7, () =>
    defineModel(exported, { tf: tfNamespace(), size, batch, scope: (_, fn) => fn() }, "model"),
  );
  const variables = trainableVariables(definition) as tf.Variable[];
  const optimizer = tf.train.momentum(0.01, 0.9);
  const values: [string, string][] = [];
  const lossOf = lossFunction(definition);
  const counts = () => {
    const { numTensors, numBytes, numDataBuffers } = tf.memory();
    return [numTensors, numBytes, numDataBuffers];
  };
  let before = counts();
  for (let index = 0; index < steps; index++) {
    seeded(index + 1, () =>
      around(() => {
        const { value, grads } = tf.variableGrads(lossOf, variables);
        values.push([`step ${index}: loss`, digest(value)]);
        variables.forEach(({ name }, i) => values.push([`step ${index}: gradient ${i}`, digest(grads[name])]));
        optimizer.applyGradients(grads as never);
        tf.dispose([value, grads]);
      }, index),
    );
    // The optimizer's state is there from the first step on.
    if (index === 0) before = counts();
  }
  const left = counts().map((count, i) => count - before[i]);
  const weights =
    definition.model?.weights.map((weight) => weight.read()) ?? Object.values(definition.parameters ?? {});
  weights.forEach((weight, i) => values.push([`weight ${i}`, digest(weight)]));
  optimizer.dispose();
  for (const weight of new Set(definition.model?.weights ?? [])) weight.dispose();
  tf.dispose([
    definition.parameters ?? {},
    definition.buffers ?? {},
    definition.inputs,
    definition.targets ?? [],
  ] as never);
  return { values, left };
}

function lossFunction({ model, forward, inputs, targets, loss }: ModelDefinition): () => tf.Scalar {
  return () => {
    const outputs = (model?.apply(inputs as tf.Tensor, { training: true }) ??
      forward?.(inputs as never, { training: true })) as tf.Tensor;
    if (loss !== undefined) return loss(outputs as never, targets as never);
    return [outputs]
      .flat()
      .map((output) => tf.sum(output))
      .reduce((total, sum) => tf.add(total, sum)) as tf.Scalar;
  };
}
