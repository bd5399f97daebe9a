import * as tf from "@tensorflow/tfjs";

const floats = (...shape: number[]) =>
  tf.tensor(
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => 0.2 + ((i * 7) % 11) / 14),
    shape,
  );
const ints = (values: number[], shape?: number[]) => tf.tensor(values, shape, "int32");
const bools = (values: boolean[]) => tf.tensor(values, undefined, "bool");
const m = () => floats(4, 6);
const image = () => floats(2, 6, 6, 3) as tf.Tensor4D;
const volume = () => floats(1, 4, 4, 4, 2) as tf.Tensor5D;
const filter = (...shape: number[]) => floats(...shape) as tf.Tensor4D;
const conv = () => filter(3, 3, 3, 4);
const complex = () => tf.complex(floats(2, 8), floats(2, 8));

type Op = (...tensors: tf.Tensor[]) => unknown;
const ops = (names: string) => names.split(" ").map((name) => (tf as unknown as Record<string, Op>)[name]);

/** Unary ops on floats between 0.2 and 1. */
const unary = [
  ...ops(
    "abs acos asin asinh atan atanh ceil cos cosh elu erf exp expm1 floor isFinite isInf isNaN leakyRelu log log1p",
  ),
  ...ops(
    "neg onesLike reciprocal relu relu6 round rsqrt selu sigmoid sign sin sinh softplus sqrt square step tan tanh",
  ),
  ...ops(
    "zerosLike clone softmax logSoftmax cumsum cumprod sum mean max min prod argMax argMin transpose reverse unique topk",
  ),
];
const binary = [
  ...ops("add atan2 equal floorDiv greater greaterEqual less lessEqual maximum minimum mod mul notEqual pow div"),
  ...ops("squaredDifference sub prelu"),
];

/** Runs that between them reach every kernel of the cpu backend that can be given made-up inputs. */
export const kernelExamples: readonly (() => void)[] = [
  ...unary.map((op) => () => void op(m())),
  ...binary.map((op) => () => void op(m(), m())),
  () => tf.acosh(tf.add(m(), 1)),
  () => tf.addN([m(), m(), m()]),
  () => [tf.all(bools([true, false])), tf.any(bools([true, false])), tf.logicalNot(bools([true, false]))],
  () => [tf.logicalAnd, tf.logicalOr].map((op) => op(bools([true, false]), bools([true, true]))),
  () => tf.bitwiseAnd(ints([1, 2]), ints([3, 4])),
  () => tf.where(bools([true, false]), floats(2), floats(2)),
  () => [tf.cast(m(), "int32"), tf.clipByValue(m(), 0.3, 0.6), tf.expandDims(m(), 0), tf.reshape(m(), [24])],
  () => [tf.concat([m(), m()], 1), tf.stack([m(), m()]), tf.unstack(m()), tf.split(m(), 2, 1), tf.tile(m(), [2, 1])],
  () => [
    tf.pad(m(), [
      [1, 1],
      [0, 2],
    ]),
    tf.mirrorPad(
      m(),
      [
        [1, 1],
        [0, 2],
      ],
      "reflect",
    ),
    tf.slice(m(), [1, 1], [2, 3]),
  ],
  () => [tf.stridedSlice(m(), [0, 0], [4, 6], [2, 3]), tf.broadcastTo(floats(1, 6), [4, 6]), tf.diag(floats(3))],
  () => tf.broadcastArgs(ints([2, 1]), ints([1, 3])),
  () => [tf.fill([2, 3], 7), tf.range(0, 5), tf.linspace(0, 1, 5), tf.multinomial(floats(2, 4) as tf.Tensor2D, 5)],
  () => [tf.matMul(m(), m(), false, true), tf.einsum("ij,kj->ik", m(), m())],
  () => tf.fused.matMul({ a: m(), b: floats(6, 2), bias: floats(2), activation: "relu" }),
  () => tf.fused.matMul({ a: m(), b: floats(6, 2), activation: "prelu", preluActivationWeights: floats(2) }),
  () =>
    tf.fused.matMul({
      a: m(),
      b: floats(6, 2),
      bias: floats(2),
      activation: "prelu",
      preluActivationWeights: floats(2),
    }),
  () => tf.fused.conv2d({ x: image(), filter: conv(), strides: 1, pad: "same", bias: floats(4) }),
  () => tf.fused.depthwiseConv2d({ x: image(), filter: filter(3, 3, 3, 1), strides: 1, pad: "same", bias: floats(3) }),
  () => tf.grads((x, f) => tf.conv2d(x as tf.Tensor4D, f as tf.Tensor4D, 1, "same"))([image(), conv()]),
  () =>
    tf.grads((x, f) => tf.depthwiseConv2d(x as tf.Tensor4D, f as tf.Tensor4D, 1, "same"))([
      image(),
      filter(3, 3, 3, 2),
    ]),
  () => tf.grads((x, f) => tf.conv3d(x as tf.Tensor5D, f as tf.Tensor5D, 1, "same"))([volume(), floats(2, 2, 2, 2, 3)]),
  () => tf.grads((x, f) => tf.dilation2d(x as tf.Tensor4D, f as tf.Tensor3D, 1, "same"))([image(), floats(2, 2, 3)]),
  () => tf.grad((x) => tf.maxPool(x as tf.Tensor4D, 2, 2, "same"))(image()),
  () => tf.grad((x) => tf.avgPool(x as tf.Tensor4D, 2, 2, "same"))(image()),
  () => tf.grad((x) => tf.maxPool3d(x as tf.Tensor5D, 2, 2, "same"))(volume()),
  () => tf.grad((x) => tf.avgPool3d(x as tf.Tensor5D, 2, 2, "same"))(volume()),
  () => tf.maxPoolWithArgmax(image(), 2, 2, "same"),
  () => tf.grad((x) => tf.elu(x))(m()),
  () => tf.grad((x) => tf.localResponseNormalization(x as tf.Tensor4D))(image()),
  () => tf.grad((x) => tf.image.resizeBilinear(x as tf.Tensor4D, [4, 4]))(image()),
  () => tf.grad((x) => tf.image.resizeNearestNeighbor(x as tf.Tensor4D, [12, 12]))(image()),
  () => tf.batchNorm(image(), floats(3), floats(3), floats(3), floats(3)),
  () => tf.batchNorm(image(), floats(3), floats(3)),
  () => tf.batchNorm(image(), floats(3), floats(3), undefined, floats(3)),
  () => [
    tf.gather(m(), ints([5, 0, 5]), 1),
    tf.gather(m(), ints([3, 1])),
    tf.gatherND(m(), ints([1, 5, 3, 2], [2, 2])),
  ],
  () => [tf.scatterND(ints([1, 3], [2, 1]), floats(2, 6), [4, 6]), tf.oneHot(ints([1, 0, 2]), 3)],
  () => tf.tensorScatterUpdate(m(), ints([1, 3], [2, 1]), floats(2, 6)),
  () => tf.sparseToDense(ints([1, 3]), floats(2), [5], 0),
  () => tf.unsortedSegmentSum(m(), ints([0, 1, 0, 1]) as tf.Tensor1D, 2),
  () => tf.sparse.sparseSegmentSum(m() as tf.Tensor2D, ints([0, 1, 3]) as tf.Tensor1D, ints([0, 0, 1]) as tf.Tensor1D),
  () => tf.sparse.sparseSegmentMean(m() as tf.Tensor2D, ints([0, 1, 3]) as tf.Tensor1D, ints([0, 0, 1]) as tf.Tensor1D),
  () => [
    tf.bincount(ints([1, 2, 2]) as tf.Tensor1D, floats(3) as tf.Tensor1D, 4),
    tf.denseBincount(ints([1, 2, 2]) as tf.Tensor1D, floats(3) as tf.Tensor1D, 4),
  ],
  () => [
    tf.lowerBound(floats(8), floats(3)),
    tf.upperBound(floats(8), floats(3)),
    tf.searchSorted(floats(8), floats(3)),
  ],
  () => [
    tf.batchToSpaceND(
      floats(4, 2, 2),
      [2, 2],
      [
        [0, 0],
        [0, 0],
      ],
    ),
    tf.spaceToBatchND(
      floats(1, 4, 4),
      [2, 2],
      [
        [0, 0],
        [0, 0],
      ],
    ),
  ],
  () => tf.depthToSpace(floats(1, 2, 2, 4) as tf.Tensor4D, 2),
  () => [tf.real(complex()), tf.imag(complex()), tf.abs(complex()), tf.fft(complex()), tf.ifft(complex())],
  () => tf.image.cropAndResize(image(), floats(2, 4) as tf.Tensor2D, ints([0, 1]) as tf.Tensor1D, [2, 2]),
  () => [
    tf.image.flipLeftRight(image()),
    tf.image.rotateWithOffset(image(), 0.5),
    tf.image.transform(image(), floats(2, 8) as tf.Tensor2D),
  ],
  () => tf.linalg.bandPart(m(), 1, 1),
];
