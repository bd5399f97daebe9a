/**
 * One training step of an example, without the optimizer: the loss, and its gradient with respect to every trainable
 * weight.
 *
 * @param {typeof import("@tensorflow/tfjs")} tf
 * @param {import("./example.js").Example} example The result of a module's `build`.
 * @returns {{ loss: import("@tensorflow/tfjs").Scalar, gradients: Record<string, import("@tensorflow/tfjs").Tensor> }}
 */
export function trainingStep(tf, example) {
  const { model, forward, inputs, targets, loss = (outputs) => sumOf(tf, outputs) } = example;
  const run = model ? () => model.apply(inputs, { training: true }) : () => forward(inputs, { training: true });
  const weights = trainableWeights(example);
  const { value, grads } = tf.variableGrads(() => loss(run(), targets), Object.values(weights));
  const gradients = Object.entries(weights).map(([name, variable]) => [name, grads[variable.name]]);
  return { loss: value, gradients: Object.fromEntries(gradients) };
}

/**
 * The trainable variables of an example by name.
 *
 * @param {import("./example.js").Example} example
 * @returns {Record<string, import("@tensorflow/tfjs").Variable>}
 */
export function trainableWeights({ model, parameters }) {
  return parameters ?? Object.fromEntries(model.trainableWeights.map((weight) => [weight.name, weight.val]));
}

/**
 * Frees the memory of an example. (A model's own `dispose` fails if nested models share a layer.)
 *
 * @param {typeof import("@tensorflow/tfjs")} tf
 * @param {import("./example.js").Example} example
 */
export function disposeExample(tf, { model, parameters = {}, buffers = {}, inputs, targets }) {
  for (const weight of new Set(model?.weights)) weight.dispose();
  tf.dispose([parameters, buffers, inputs, targets ?? []]);
}

/** The sum of all outputs: the loss of a model that has none. */
function sumOf(tf, outputs) {
  const sums = [outputs].flat().map((output) => tf.sum(output));
  return sums.reduce((total, sum) => tf.add(total, sum));
}
