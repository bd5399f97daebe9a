import type * as tfjsLayers from "@tensorflow/tfjs-layers";

/** Arguments of a model module. See examples/README.md. */
interface ModelArguments {
  readonly tf: { readonly sequential: typeof tfjsLayers.sequential; readonly layers: typeof tfjsLayers.layers };
}

/** Three stages of convolutions. The memory to save is in the first one, which has the largest images. */
export default function smallCnn({ tf }: ModelArguments): tfjsLayers.LayersModel {
  const { layers } = tf;
  const stages = [32, 64, 128].flatMap((filters, i) => {
    const name = (part: string): string => `stage${i + 1}_${part}`;
    const input = i === 0 ? { batchInputShape: [64, 32, 32, 3] } : {};
    return [
      layers.conv2d({ filters, kernelSize: 3, padding: "same", name: name("conv1"), ...input }),
      layers.batchNormalization({ name: name("norm") }),
      layers.activation({ activation: "relu", name: name("relu") }),
      layers.conv2d({ filters, kernelSize: 3, padding: "same", activation: "relu", name: name("conv2") }),
      layers.maxPooling2d({ poolSize: 2, name: name("pool") }),
    ];
  });
  return tf.sequential({
    name: "small_cnn",
    layers: [
      ...stages,
      layers.flatten({ name: "top_flatten" }),
      layers.dense({ units: 256, activation: "relu", name: "top_hidden" }),
      layers.dropout({ rate: 0.5, name: "top_dropout" }),
      layers.dense({ units: 10, activation: "softmax", name: "top_classes" }),
    ],
  });
}
