import { type Op, opsOf } from "./op.js";

/** Ops on volumes, and from them. */
export const volumeOps: readonly Op[] = [
  ...opsOf(
    "volume",
    "volume",
    `
    tf.conv3d($x, $w[2, 2, 2, 2, 2], 1, "same")
    tf.add($x, tf.conv3dTranspose($c[1, 2, 4, 4, 2], $c[1, 2, 2, 2, 2], [1, 2, 4, 4, 2], 1, "same"))
    tf.maxPool3d($x, 2, 1, "same")
    tf.avgPool3d($x, 2, 1, "same")
    tf.batchNorm4d(tf.reshape($x, [$B, 8, 4, 2]), $c[2], $c[2].abs().add(0.1), $w[2], $w[2]).reshape([$B, 2, 4, 4, 2])
    tf.transpose($x, [0, 1, 3, 2, 4])
    tf.mul($x, $w[2])
    tf.mul($x, $w[2, 1, 4, 1])
    $l{tf.layers.conv3d({ filters: 2, kernelSize: 2, padding: "same" })}.apply($x)
    $l{tf.layers.maxPooling3d({ poolSize: 2, strides: 1, padding: "same" })}.apply($x)
    $l{tf.layers.convLstm2d({ filters: 2, kernelSize: 2, padding: "same", returnSequences: true })}.apply($x)
    `,
  ),
  ...opsOf(
    "volume",
    "matrix",
    `
    tf.matMul(tf.reshape($x, [$B, 64]), $w[64, 6])
    tf.matMul(tf.mean($x, [1, 2, 3]), $w[2, 6])
    `,
  ),
  ...opsOf("volume", "image", "tf.conv2d(tf.mean($x, 1), $w[2, 2, 2, 3], 1, 'same')"),
];
