// A custom training loop over variables: a residual network whose gradients are clipped before they are applied; then
// plain descent with `assign`.
import "../seeded.cjs";
import * as tf from "@tensorflow/tfjs";

const width = 24;
const x = tf.randomNormal([96, width]);
const y = x.slice([0, 0], [-1, 1]).mul(2).sin();
const blocks = Array.from({ length: 6 }, (_, i) =>
  tf.variable(tf.randomNormal([width, width], 0, 0.1), true, `block${i}`),
);
const last = tf.variable(tf.randomNormal([width, 1], 0, 0.1), true, "last");
const optimizer = tf.train.momentum(0.05, 0.9);

const loss = () =>
  tf.tidy(() => {
    let hidden = x;
    for (const block of blocks) hidden = hidden.add(tf.tanh(hidden.matMul(block)).mul(0.5));
    return tf.losses.meanSquaredError(y, hidden.matMul(last));
  });

for (let step = 0; step < 4; step++) {
  tf.tidy(() => {
    const { value, grads } = tf.variableGrads(loss);
    const clipped = Object.fromEntries(
      Object.entries(grads).map(([name, grad]) => [name, grad.clipByValue(-0.1, 0.1)]),
    );
    optimizer.applyGradients(clipped);
    console.log(value.dataSync()[0]);
  });
}
for (let step = 0; step < 3; step++) {
  const { value, grads } = tf.variableGrads(loss);
  for (const variable of [...blocks, last]) {
    const next = tf.tidy(() => variable.sub(grads[variable.name].mul(0.01)));
    variable.assign(next);
    next.dispose();
  }
  console.log(value.dataSync()[0]);
  tf.dispose([value, grads]);
}
