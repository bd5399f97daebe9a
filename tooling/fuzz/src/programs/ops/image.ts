import { type Op, opsOf } from "./op.js";

const table = `
  tf.conv2d($x, $w[3, 3, 3, 3], 1, "same")
  tf.image.resizeBilinear(tf.conv2d($x, $w[3, 3, 3, 3], 2, "same"), [4, 4])
  tf.pad(tf.conv2d($x, $w[2, 2, 3, 3], 1, "valid"), [[0, 0], [1, 0], [0, 1], [0, 0]])
  tf.conv2dTranspose(tf.maxPool($x, 2, 2, "same"), $w[2, 2, 3, 3], [$B, 4, 4, 3], 2, "same")
  tf.depthwiseConv2d($x, $w[3, 3, 3, 1], 1, "same")
  tf.slice(tf.depthwiseConv2d($x, $w[2, 2, 3, 2], 1, "same"), [0, 0, 0, 1], [$B, 4, 4, 3])
  tf.separableConv2d($x, $w[2, 2, 3, 1], $w[1, 1, 3, 3], 1, "same")
  tf.fused.conv2d({ x: $x, filter: $w[3, 3, 3, 3], strides: 1, pad: "same", bias: $w[3], activation: "relu" })
  tf.fused.conv2d({ x: $x, filter: $w[1, 1, 3, 3], strides: 1, pad: "same", activation: "elu" })
  tf.fused.depthwiseConv2d({ x: $x, filter: $w[3, 3, 3, 1], strides: 1, pad: "same", bias: $w[3], activation: "relu6" })
  tf.maxPool($x, 2, 1, "same")
  tf.avgPool($x, 3, 1, "same")
  tf.pool($x, [2, 2], "max", "same", 1, 1)
  tf.image.resizeNearestNeighbor(tf.maxPool($x, 2, 2, "valid"), [4, 4])
  tf.image.resizeBilinear(tf.avgPool($x, 2, 2, "valid"), [4, 4], true)
  tf.dilation2d($x, $w[2, 2, 3], 1, "same")
  tf.batchNorm($x, tf.mean($x, [0, 1, 2]), $c[3].abs().add(0.1), $w[3], $w[3], 0.001)
  tf.localResponseNormalization($x, 1)
  tf.batchToSpaceND(tf.spaceToBatchND($x, [2, 2], [[0, 0], [0, 0]]), [2, 2], [[0, 0], [0, 0]])
  tf.transpose(tf.transpose($x, [0, 3, 1, 2]), [0, 2, 3, 1])
  tf.transpose($x, [0, 2, 1, 3])
  tf.tile(tf.slice($x, [0, 0, 0, 1], [$B, 4, 4, 1]), [1, 1, 1, 3])
  tf.concat([tf.slice($x, [0, 0, 0, 0], [$B, 4, 4, 2]), tf.slice($y, [0, 0, 0, 2], [$B, 4, 4, 1])], 3)
  tf.mul($x, $w[3])
  tf.prelu($x, $w[1, 1, 3])
  tf.batchNorm4d($x, $c[3], $c[3].abs().add(0.1), $w[3], $w[3])
  tf.mul($x, tf.cast(tf.maxPoolWithArgmax($c[1, 4, 4, 3], 2, 1, "same").result, "float32"))
  tf.image.grayscaleToRGB(tf.mean($x, 3, true))
  tf.add($x, tf.image.flipLeftRight($c[1, 4, 4, 3]))
  tf.add($x, tf.image.rotateWithOffset($c[1, 4, 4, 3], 0.5))
  tf.add($x, tf.image.cropAndResize($c[1, 4, 4, 3], tf.tensor2d([[0, 0, 0.5, 0.5]]), tf.tensor1d([0], "int32"), [4, 4]))
  tf.add($x, tf.depthToSpace($c[1, 2, 2, 12], 2))
  tf.add($x, tf.image.rgbToGrayscale($c[4, 4, 3].abs()))
  $l{tf.layers.conv2d({ filters: 3, kernelSize: 3, padding: "same", activation: "relu" })}.apply($x)
  $l{tf.layers.depthwiseConv2d({ kernelSize: 2, padding: "same" })}.apply($x)
  $l{tf.layers.separableConv2d({ filters: 3, kernelSize: 2, padding: "same" })}.apply($x)
  $l{tf.layers.conv2dTranspose({ filters: 3, kernelSize: 2, padding: "same" })}.apply($x)
  $l{tf.layers.batchNormalization()}.apply($x, { training: true })
  $l{tf.layers.layerNormalization()}.apply($x)
  $l{tf.layers.spatialDropout1d({ rate: 0.5 })}.apply($x.reshape([$B, 16, 3]), { training: true }).reshape([$B, 4, 4, 3])
  $l{tf.layers.upSampling2d({ size: [2, 2] })}.apply(tf.maxPool($x, 2, 2, "same"))
  $l{tf.layers.cropping2D({ cropping: 1 })}.apply($l{tf.layers.zeroPadding2d({ padding: 1 })}.apply($x))
  $l{tf.layers.permute({ dims: [2, 1, 3] })}.apply($x)
  $l{tf.layers.averagePooling2d({ poolSize: 2, strides: 1, padding: "same" })}.apply($x)
  $l{tf.layers.reshape({ targetShape: [4, 4, 3] })}.apply($l{tf.layers.flatten()}.apply($x))
`;

/** Ops on images, and to and from them. */
export const imageOps: readonly Op[] = [
  ...opsOf("image", "image", table),
  ...opsOf(
    "image",
    "matrix",
    `
    tf.matMul(tf.reshape($x, [$B, 48]), $w[48, 6])
    tf.matMul(tf.mean($x, [1, 2]), $w[3, 6])
    tf.max(tf.conv2d($x, $w[2, 2, 3, 6], 2, "valid"), [1, 2])
    $l{tf.layers.globalAveragePooling2d({})}.apply(tf.concat([$x, $y], 3))
    $l{tf.layers.globalMaxPooling2d({})}.apply(tf.concat([$x, $y], 3))
    `,
  ),
  ...opsOf(
    "image",
    "volume",
    `
    tf.stack([tf.slice($x, [0, 0, 0, 0], [$B, 4, 4, 2]), tf.slice($y, [0, 0, 0, 1], [$B, 4, 4, 2])], 1)
    `,
  ),
];

export const imageOpsWithoutGradient: readonly Op[] = opsOf(
  "image",
  "image",
  `
  tf.image.flipLeftRight($x)
  tf.conv2d($x, $w[2, 2, 3, 3], 1, "same", "NHWC", [2, 2])
  tf.einsum("bijc,cd->bijd", $x, $w[3, 3])
  tf.image.rotateWithOffset($x, 0.3)
  tf.depthToSpace(tf.concat([$x, $y, $x, $y], 3), 2).slice([0, 0, 0, 0], [$B, 4, 4, 3])
  tf.maxPoolWithArgmax($x, 2, 1, "same").result
  `,
);
