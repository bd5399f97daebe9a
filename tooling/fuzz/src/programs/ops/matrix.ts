import { type Op, opsOf } from "./op.js";

const table = `
  tf.matMul($x, $w[6, 6])
  tf.matMul($x, $w[6, 6], false, true)
  tf.matMul(tf.matMul($x, $y, true, false), $x, false, true).transpose()
  tf.matMul(tf.matMul($x, $y, false, true), $x)
  tf.dot($x, $w[6, 6])
  tf.outerProduct(tf.mean($x, 1), $w[6])
  tf.fused.matMul({ a: $x, b: $w[6, 6], bias: $w[6], activation: "relu" })
  tf.fused.matMul({ a: $x, b: $w[6, 6], activation: "sigmoid" })
  tf.fused.matMul({ a: $x, b: $w[6, 6], transposeB: true, bias: $w[6], activation: "elu" })
  tf.fused.matMul({ a: $x, b: $w[6, 6], activation: "prelu", preluActivationWeights: $w[6] })
  tf.add($x, $w[6])
  tf.mul($x, $w[6])
  tf.div($x, tf.add(tf.abs($w[6]), 1))
  tf.prelu($x, $w[6])
  tf.batchNorm($x, tf.mean($x, 0), $c[6].abs().add(0.1), $w[6], $w[6], 0.01)
  tf.transpose(tf.transpose($x))
  tf.cast(tf.argMax($x, 1), "float32").expandDims(1).add($x)
  tf.slice(tf.concat([$x, $y], 1), [0, 3], [$B, 6])
  tf.concat(tf.split($x, [2, 4], 1).reverse(), 1)
  tf.stack([$x, $y]).mean(0)
  tf.unstack(tf.stack([$x, $y], 2), 2)[1]
  tf.mirrorPad(tf.slice($x, [0, 1], [$B, 4]), [[0, 0], [1, 1]], "reflect")
  tf.pad2d($x.slice([0, 0], [$B, 5]), [[0, 0], [0, 1]], 0.5)
  tf.gather($x, $i[6, 6], 1)
  tf.gather($w[5, 6], $i[5, 2]).mean(0, true).mul($x)
  tf.gather($w[5, 6], $i[5, 3]).sum(0).add($x)
  tf.unsortedSegmentSum($w[4, 6], $i[4, 3], 3).sum(0).mul($x)
  tf.mul(tf.linalg.bandPart($c[6, 6], 1, 2), $w[6, 6]).matMul($x, false, true).transpose()
  tf.einsum("ij,jk->ik", $c[1, 6], $c[6, 6]).add($x)
  tf.add($x, tf.gatherND($c[5, 6], $i[5, 2].expandDims(1)).mean(0))
  tf.add($x, tf.scatterND($i[3, 4].expandDims(1), $c[3, 6], [4, 6]).mean(0))
  tf.add($x, tf.diag($c[6]).sum(0))
  tf.linalg.gramSchmidt($w[3, 6]).sum(0).mul($x)
  tf.mul($x, tf.oneHot($i[6, 3], 6).sum(0))
  tf.mul($x, tf.range(0, 6).div(6))
  tf.mul($x, tf.linspace(0, 1, 6))
  tf.mul($x, tf.fill([6], 0.7))
  tf.mul($x, tf.onesLike($c[6]).add(tf.zeros([6])))
  tf.add($x, tf.randomNormal([6], 0, 0.1))
  tf.add($x, tf.randomUniform([6], 0, 0.1, "float32", 11))
  tf.add($x, tf.randomGamma([6], 1, 1, "float32", 2))
  tf.mul($x, tf.cast(tf.randomUniformInt([6], 0, 3, 4), "float32"))
  tf.mul($x, tf.cast(tf.all(tf.ones([2, 2], "bool")), "float32"))
  tf.mul($x, tf.cast(tf.any(tf.ones([2, 2], "bool")), "float32"))
  tf.mul($x, tf.cast(tf.argMax($c[6, 3]), "float32").mean())
  tf.mul($x, tf.cast(tf.argMin($c[6, 3], 1), "float32"))
  tf.mul($x, tf.topk($c[8], 6).values)
  tf.mul($x, tf.unique($i[2, 6]).values.cast("float32").mean())
  tf.mul($x, tf.cast(tf.bincount($i[6, 5], $c[6], 6), "float32"))
  tf.mul($x, tf.cast(tf.denseBincount($i[6, 5], $c[6], 6), "float32"))
  tf.mul($x, tf.cast(tf.searchSorted(tf.range(0, 6), $c[6]), "float32"))
  tf.mul($x, tf.cast(tf.lowerBound(tf.range(0, 6), $c[6]), "float32"))
  tf.mul($x, tf.sparseToDense($i[1, 6], $c[1], [6], 1))
  tf.mul($x, tf.tensorScatterUpdate($c[6], $i[1, 6].expandDims(1), tf.ones([1])))
  tf.mul($x, tf.meshgrid($c[6], $c[1])[0].reshape([6]))
  tf.mul($x, tf.math.confusionMatrix($i[6, 5], $i[6, 5], 6).cast("float32").sum(0))
  tf.mul($x, tf.movingAverage($c[6], $c[6], 0.9, 2))
  tf.mul($x, tf.abs(tf.complex($c[6], $c[6])))
  tf.mul($x, tf.real(tf.ifft(tf.fft(tf.complex($c[6], $c[6])))))
  tf.mul($x, tf.imag(tf.rfft($c[10])))
  tf.mul($x, tf.irfft(tf.complex($c[4], $c[4])))
  tf.mul($x, tf.signal.hannWindow(6))
  tf.mul($x, tf.signal.hammingWindow(6))
  tf.mul($x, tf.signal.frame($c[10], 6, 2).mean(0))
  tf.losses.absoluteDifference($x, $y).add($x)
  tf.losses.cosineDistance($x, $y, 1).add($x)
  tf.losses.hingeLoss(tf.ones($x.shape), $x).add($x)
  tf.losses.huberLoss($y, $x).add($x)
  tf.losses.logLoss(tf.fill($x.shape, 0.3), tf.sigmoid($x)).add($x)
  tf.losses.meanSquaredError($x, $y).mul($x)
  tf.losses.sigmoidCrossEntropy(tf.ones($x.shape), $x).add($x)
  tf.losses.softmaxCrossEntropy(tf.softmax(tf.randomUniform($x.shape)), $x).add($x)
  tf.basicLSTMCell(1, $w[12, 24], $w[24], $x, $y, $x)[1]
  tf.multiRNNCell([(d, c, h) => tf.basicLSTMCell(1, $w[12, 24], $w[24], d, c, h)], $x, [$y], [$x])[0][0]
  tf.conv1d(tf.expandDims($x, 2), $w[3, 1, 2], 1, "same").mean(2)
  tf.localResponseNormalization(tf.reshape($x, [$B, 1, 2, 3])).reshape([$B, 6])
  $l{tf.layers.dense({ units: 6, activation: "tanh" })}.apply($x)
  $l{tf.layers.dense({ units: 6, useBias: false, kernelRegularizer: "l1l2" })}.apply($x)
  $l{tf.layers.batchNormalization()}.apply($x, { training: true })
  $l{tf.layers.layerNormalization()}.apply($x)
  $l{tf.layers.dropout({ rate: 0.4 })}.apply($x, { training: true })
  $l{tf.layers.gaussianNoise({ stddev: 0.1 })}.apply($x, { training: true })
  $l{tf.layers.gaussianDropout({ rate: 0.2 })}.apply($x, { training: true })
  $l{tf.layers.alphaDropout({ rate: 0.2 })}.apply($x, { training: true })
  $l{tf.layers.prelu()}.apply($x)
  $l{tf.layers.activation({ activation: "hardSigmoid" })}.apply($x)
  $l{tf.layers.activation({ activation: "swish" })}.apply($x)
  $l{tf.layers.activation({ activation: "gelu" })}.apply($x)
  $l{tf.layers.activation({ activation: "mish" })}.apply($x)
`;

const toOthers: readonly Op[] = [
  ...opsOf(
    "matrix",
    "sequence",
    `
    tf.stack([$x, $y, tf.neg($x), tf.tanh($y)], 1)
    tf.matMul($x, $w[6, 24]).reshape([$B, 4, 6])
    tf.tile(tf.expandDims($x, 1), [1, 4, 1])
    tf.broadcastTo(tf.expandDims($x, 1), [$B, 4, 6])
    tf.mul(tf.gather($w[5, 6], tf.reshape($i[4, 5], [1, 4])), tf.expandDims($x, 1))
    $l{tf.layers.repeatVector({ n: 4 })}.apply($x)
    tf.add($l{tf.layers.embedding({ inputDim: 5, outputDim: 6 })}.apply($i[4, 5].reshape([1, 4])), tf.expandDims($x, 1))
    `,
  ),
  ...opsOf("matrix", "image", "tf.matMul($x, $w[6, 48]).reshape([$B, 4, 4, 3])"),
  ...opsOf("matrix", "volume", "tf.matMul($x, $w[6, 64]).reshape([$B, 2, 4, 4, 2])"),
];

const withoutGradient = `
  tf.einsum("ij,kj->ik", $x, $w[6, 6])
  tf.einsum("ij,ij->i", $x, $y).expandDims(1).add($x)
  tf.gatherND($w[5, 6], $i[5, 2].expandDims(1)).mean(0).add($x)
  tf.scatterND($i[3, 4].expandDims(1), tf.gather($w[5, 6], $i[3, 5]), [4, 6]).mean(0).add($x)
  tf.diag($w[6]).matMul($x, false, true).transpose()
  tf.losses.computeWeightedLoss($x, $y).add($x)
  $l{tf.layers.thresholdedReLU({ theta: 0.1 })}.apply($x)
  tf.linalg.qr(tf.matMul($x, $x, true))[0].mean(0).add($x)
  tf.mul($x, tf.sparse.sparseSegmentSum($w[4, 6], $i[1, 4], tf.tensor1d([0], "int32")).reshape([6]))
  tf.image.transform($x.reshape([$B, 1, 6, 1]), $c[1, 8]).reshape([$B, 6])
`;

/** Ops on matrices. */
export const matrixOps: readonly Op[] = [...opsOf("matrix", "matrix", table), ...toOthers];

export const matrixOpsWithoutGradient: readonly Op[] = opsOf("matrix", "matrix", withoutGradient);
