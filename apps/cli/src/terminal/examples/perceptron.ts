import type * as tfjsLayers from "@tensorflow/tfjs-layers";

/** Arguments of a model module. See examples/README.md. */
interface ModelArguments {
  readonly tf: { readonly sequential: typeof tfjsLayers.sequential; readonly layers: typeof tfjsLayers.layers };
}

/** Four dense layers with dropout between them: small enough to read every op. */
export default function perceptron({ tf }: ModelArguments): tfjsLayers.LayersModel {
  return tf.sequential({
    name: "perceptron",
    layers: [
      tf.layers.dense({ units: 1024, activation: "relu", batchInputShape: [256, 784], name: "hidden_1" }),
      tf.layers.dropout({ rate: 0.2, name: "dropout_1" }),
      tf.layers.dense({ units: 1024, activation: "relu", name: "hidden_2" }),
      tf.layers.dropout({ rate: 0.2, name: "dropout_2" }),
      tf.layers.dense({ units: 512, activation: "relu", name: "hidden_3" }),
      tf.layers.dense({ units: 10, activation: "softmax", name: "classes" }),
    ],
  });
}
