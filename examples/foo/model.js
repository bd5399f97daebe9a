import { moduleKit } from "../modules.js";

/** The small model of PyTorch's SACEstimator test: Linear(5, 10), then relu, cos and sin, which PyTorch runs in place. */
export default function build({ tf, batch = 10, scope = (_name, run) => run() }) {
  const { module, parameters, linear } = moduleKit({ tf, scope });
  const forward = module("Foo", () => {
    const fc1 = linear("fc1", 5, 10);
    const relu1 = module("relu1", () => (x) => tf.relu(x));
    return (x) => tf.sin(tf.cos(relu1(fc1(x))));
  });
  return { name: "Foo", forward, parameters, inputs: tf.randomUniform([batch, 5]) };
}
