// A policy learns to balance a pole on a cart from whole games: gradients of each move by `variableGrads` are kept,
// weighted by how long the game lasted after it, and applied together.
import "../seeded.cjs";
import * as tf from "@tensorflow/tfjs";

const model = tf.sequential({
  layers: [tf.layers.dense({ units: 16, activation: "elu", inputShape: [4] }), tf.layers.dense({ units: 1 })],
});
const optimizer = tf.train.sgd(0.05);

/** A cart of 1 kg with a pole of 0.1 kg and half a metre, pushed by 10 N for 20 ms. */
function move([x, velocity, angle, turning], push) {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const force = (push + 0.05 * turning ** 2 * sin) / 1.1;
  const spin = (9.8 * sin - cos * force) / (0.5 * (4 / 3 - (0.1 * cos ** 2) / 1.1));
  const acceleration = force - (0.05 * spin * cos) / 1.1;
  return [x + 0.02 * velocity, velocity + 0.02 * acceleration, angle + 0.02 * turning, turning + 0.02 * spin];
}

const isOver = ([x, , angle]) => Math.abs(x) > 2.4 || Math.abs(angle) > 0.2;

function play() {
  const gradients = [];
  let state = [0, 0, 0, 0].map(() => Math.random() * 0.1 - 0.05);
  while (!isOver(state) && gradients.length < 40) {
    const draw = Math.random();
    let goesLeft = false;
    const { value, grads } = tf.variableGrads(() =>
      tf.tidy(() => {
        const logits = model.predict(tf.tensor2d([state]));
        goesLeft = draw < tf.sigmoid(logits).dataSync()[0];
        return tf.losses.sigmoidCrossEntropy(tf.tensor2d([[goesLeft ? 1 : 0]]), logits).asScalar();
      }),
    );
    value.dispose();
    gradients.push(grads);
    state = move(state, goesLeft ? -10 : 10);
  }
  return gradients;
}

for (let round = 0; round < 3; round++) {
  const games = [play(), play()];
  const moves = games.flatMap((gradients) => gradients.map((grads, i) => ({ grads, reward: gradients.length - i })));
  const mean = tf.tidy(() =>
    Object.fromEntries(
      Object.keys(moves[0].grads).map((name) => [
        name,
        tf.addN(moves.map(({ grads, reward }) => grads[name].mul(reward))).div(moves.length),
      ]),
    ),
  );
  optimizer.applyGradients(mean);
  tf.dispose([games, mean]);
  console.log(round, games.map((gradients) => gradients.length).join(), model.getWeights()[0].dataSync().join());
}
