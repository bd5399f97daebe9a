const tf = require("@tensorflow/tfjs");

const parse = (i) => {
  if (i % 2 === 1) throw new Error("an odd request");
};
for (let i = 0; i < 20; i++) {
  const x = tf.ones([1, 4]); // leaks 10, lost
  try {
    tf.tidy(() => x.sum().dataSync());
    parse(i);
    x.dispose();
  } catch {}
}
