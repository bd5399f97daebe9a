const tf = require("@tensorflow/tfjs");

const float = { type: "DT_FLOAT" };
const x = { dtype: float, shape: { shape: { dim: [{ size: "-1" }, { size: "4" }] } } };
const model = tf.loadGraphModelSync({
  modelTopology: {
    node: [
      { name: "x", op: "Placeholder", attr: x },
      { name: "y", op: "Relu", input: ["x"], attr: { T: float } },
    ],
    versions: {},
  },
  weightSpecs: [],
  weightData: new ArrayBuffer(0),
});
const ask = (input) => {
  const y = model.predict(tf.tensor2d([input])); // leaks 12, lost
  const values = y.dataSync();
  y.dispose();
  return values;
};
for (let i = 0; i < 12; i++) ask([1, 2, 3, i]);
