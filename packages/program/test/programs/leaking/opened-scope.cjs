const tf = require("@tensorflow/tfjs");
void (async () => {
  for (let i = 0; i < 8; i++) {
    tf.engine().startScope();
    const model = tf.sequential();
    model.add(tf.layers.dense({ units: 3, inputShape: [2] })); // leaks 16, held
    // The slots are made after an await within model.fit: nowhere leaks 32, held
    model.compile({ optimizer: "adam", loss: "meanSquaredError" }); // leaks 16, held
    await model.fit(tf.ones([4, 2]), tf.ones([4, 3]), { epochs: 1, verbose: 0 });
    tf.engine().endScope();
  }
})();
