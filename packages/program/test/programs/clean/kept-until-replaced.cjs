const tf = require("@tensorflow/tfjs");

let best;
for (let i = 0; i < 12; i++)
  tf.tidy(() => {
    const candidate = tf.randomUniform([6]);
    best?.dispose();
    best = tf.keep(candidate.square());
  });
