import { type Op, opsOf } from "./op.js";

const table = `
  tf.conv1d($x, $w[3, 6, 6], 1, "same")
  tf.matMul(tf.softmax(tf.matMul($x, $y, false, true)), $x)
  tf.matMul($x, tf.tile(tf.reshape($w[6, 6], [1, 6, 6]), [$B, 1, 1]))
  tf.reshape(tf.matMul(tf.reshape($x, [$B * 4, 6]), $w[6, 6]), [$B, 4, 6])
  tf.transpose(tf.transpose($x, [1, 0, 2]), [1, 0, 2])
  tf.concat([tf.slice($x, [0, 1, 0], [$B, 3, 6]), tf.slice($y, [0, 0, 0], [$B, 1, 6])], 1)
  tf.stack(tf.unstack($x, 1).map((step, i) => (i === 0 ? step : tf.tanh(step))), 1)
  tf.add($x, tf.gather($w[5, 6], $i[4, 5]))
  tf.gather($x, $i[4, 4], 1)
  tf.mul($x, $w[4, 6])
  tf.add($x, tf.mul(-1e3, tf.sub(1, tf.linalg.bandPart(tf.ones([4, 6]), -1, 0))).exp())
  tf.batchNorm3d($x, $c[6], $c[6].abs().add(0.1), $w[6], $w[6])
  $l{tf.layers.lstm({ units: 6, returnSequences: true })}.apply($x)
  $l{tf.layers.gru({ units: 6, returnSequences: true, resetAfter: false })}.apply($x)
  $l{tf.layers.simpleRNN({ units: 6, returnSequences: true, activation: "relu" })}.apply($x)
  $l{tf.layers.simpleRNN({ units: 6, returnSequences: true, dropout: 0.2, recurrentDropout: 0.2 })}.apply($x, { training: true })
  $l{tf.layers.lstm({ units: 6, returnSequences: true, goBackwards: true })}.apply($x)
  $l{tf.layers.bidirectional({ layer: tf.layers.simpleRNN({ units: 6, returnSequences: true }), mergeMode: "sum" })}.apply($x)
  $l{tf.layers.rnn({ cell: [tf.layers.gruCell({ units: 6 }), tf.layers.simpleRNNCell({ units: 6 })], returnSequences: true })}.apply($x)
  $l{tf.layers.timeDistributed({ layer: tf.layers.dense({ units: 6 }) })}.apply($x)
  $l{tf.layers.conv1d({ filters: 6, kernelSize: 2, padding: "same" })}.apply($x)
  $l{tf.layers.layerNormalization()}.apply($x)
  $l{tf.layers.dense({ units: 6, activation: "softmax" })}.apply($x)
  $l{tf.layers.spatialDropout1d({ rate: 0.3 })}.apply($x, { training: true })
  $l{tf.layers.maxPooling1d({ poolSize: 2, strides: 1, padding: "same" })}.apply($x)
  $l{tf.layers.averagePooling1d({ poolSize: 2, strides: 1, padding: "same" })}.apply($x)
`;

/** Ops on sequences, and to and from them. */
export const sequenceOps: readonly Op[] = [
  ...opsOf("sequence", "sequence", table),
  ...opsOf(
    "sequence",
    "matrix",
    `
    tf.mean($x, 1)
    tf.max($x, 1)
    tf.sum($x, 1)
    tf.unstack($x, 1)[3]
    tf.cast(tf.argMax($x, 1), "float32")
    tf.squeeze(tf.slice($x, [0, 2, 0], [$B, 1, 6]), [1])
    $l{tf.layers.lstm({ units: 6 })}.apply($x)
    $l{tf.layers.gru({ units: 6 })}.apply($x)
    $l{tf.layers.simpleRNN({ units: 6 })}.apply($x)
    $l{tf.layers.globalAveragePooling1d({})}.apply($x)
    $l{tf.layers.globalMaxPooling1d({})}.apply($x)
    `,
  ),
  ...opsOf(
    "sequence",
    "image",
    "tf.slice(tf.reshape(tf.concat([$x, $y], 2), [$B, 4, 4, 3]), [0, 0, 0, 0], [$B, 4, 4, 3])",
  ),
];
