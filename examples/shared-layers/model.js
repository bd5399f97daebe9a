const sizes = { full: { width: 48, batch: 8 }, tiny: { width: 8, batch: 4 } };

/**
 * Nested models with shared layers: `shared` runs inside `a` and next to it, `norm` twice, `b` twice, each with one set
 * of weights. The equivalent of PyTorch's `ReuseNet`.
 */
export default function build({ tf, size = "full", batch }) {
  const { width, batch: usualBatch } = sizes[size];
  const count = batch ?? usualBatch;
  const { layers } = tf;

  const sharedBlock = (name) =>
    tf.sequential({
      name,
      layers: [
        layers.dense({ name: `${name}_lin`, units: width, activation: "gelu", inputShape: [width] }),
        layers.dropout({ name: `${name}_drop`, rate: 0.1 }),
      ],
    });
  const residualBlock = (name, shared) => {
    const x = tf.input({ name: `${name}_input`, shape: [width] });
    const own = layers.dense({ name: `${name}_own`, units: width }).apply(shared.apply(x));
    return tf.model({ name, inputs: x, outputs: layers.add({ name: `${name}_add` }).apply([own, x]) });
  };

  const shared = sharedBlock("shared");
  const a = residualBlock("a", shared);
  const b = residualBlock("b", sharedBlock("b_shared"));
  const norm = layers.layerNormalization({ name: "norm" });

  const input = tf.input({ name: "input", shape: [width] });
  const path = [a, norm, shared, b, norm, b];
  const output = path.reduce((x, layer) => layer.apply(x), input);
  return {
    name: "SharedLayers",
    model: tf.model({ name: "shared_layers", inputs: input, outputs: output }),
    inputs: tf.randomNormal([count, width]),
    targets: tf.randomNormal([count, width]),
    loss: (output, targets) => tf.losses.meanSquaredError(targets, output),
  };
}
