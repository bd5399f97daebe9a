const tf = require("@tensorflow/tfjs");

/** Keeps what it has seen, to look at later, and never does. */
class Attention extends tf.layers.Layer {
  computeOutputShape(shape) {
    return shape;
  }
  call(inputs) {
    const [x] = [inputs].flat();
    tf.keep(tf.tidy(() => tf.softmax(x))); // leaks 12, lost
    return x.mul(2);
  }
  static get className() {
    return "Attention";
  }
}

const model = tf.sequential({ layers: [new Attention({ name: "seen", inputShape: [4] })] });
const x = tf.ones([2, 4]);
for (let i = 0; i < 12; i++) tf.dispose(model.predict(x));
