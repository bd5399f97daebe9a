const tf = require("@tensorflow/tfjs");

// A converted graph as the frozen base of a head that is trained.
const float = { type: "DT_FLOAT" };
const node = (name, op, input, attr = {}) => ({ name, op, input, attr: { T: float, ...attr } });
const base = tf.loadGraphModelSync({
  modelTopology: {
    node: [
      {
        name: "x",
        op: "Placeholder",
        attr: { dtype: float, shape: { shape: { dim: [{ size: "-1" }, { size: "4" }] } } },
      },
      { name: "w", op: "Const", attr: { dtype: float, value: { tensor: { dtype: "DT_FLOAT", tensorShape: {} } } } },
      node("product", "MatMul", ["x", "w"], { transpose_a: { b: false }, transpose_b: { b: false } }),
      node("features", "Tanh", ["product"]),
    ],
    versions: {},
  },
  weightSpecs: [{ name: "w", shape: [4, 8], dtype: "float32" }],
  weightData: Float32Array.from({ length: 32 }, (_, i) => ((i * 7) % 11) / 11 - 0.5).buffer,
});
const head = tf.variable(tf.ones([8, 1]));
const optimizer = tf.train.sgd(0.1);
const x = tf.tensor2d([1, 2, 3, 4, 4, 3, 2, 1], [2, 4]);
for (let i = 0; i < 4; i++) {
  const loss = optimizer.minimize(() => base.predict(x).matMul(head).sub(1).square().mean(), true, [head]);
  console.log(loss.dataSync()[0]);
  loss.dispose();
}
