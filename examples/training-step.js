/**
 * One training step of an example, without the optimizer: the loss, and its gradient with respect to every trainable weight.
 *
 * @param tf What `@tensorflow/tfjs` exports.
 * @param example What a module's `build` returned.
 * @returns {{ loss: import("@tensorflow/tfjs").Scalar, gradients: Record<string, import("@tensorflow/tfjs").Tensor> }}
 */
export function trainingStep(tf, example) {
  const { model, forward, inputs, targets, loss = (outputs) => sumOf(tf, outputs) } = example;
  const run = model ? () => model.apply(inputs, { training: true }) : () => forward(inputs, { training: true });
  const { value, grads } = tf.variableGrads(() => loss(run(), targets), Object.values(trainableWeights(example)));
  const named = Object.entries(trainableWeights(example)).map(([name, variable]) => [name, grads[variable.name]]);
  return { loss: value, gradients: Object.fromEntries(named) };
}

/** The trainable variables of an example by name. */
export function trainableWeights({ model, parameters }) {
  return parameters ?? Object.fromEntries(model.trainableWeights.map((weight) => [weight.name, weight.val]));
}

/** Gives back what an example holds. (A model's own `dispose` fails where nested models share a layer.) */
export function disposeExample(tf, { model, parameters = {}, buffers = {}, inputs, targets }) {
  for (const weight of new Set(model?.weights)) weight.dispose();
  tf.dispose([parameters, buffers, inputs, targets ?? []]);
}

/** The sum of all outputs: the loss of a model that has none. */
function sumOf(tf, outputs) {
  return [outputs].flat().map((output) => tf.sum(output)).reduce((total, sum) => tf.add(total, sum));
}
