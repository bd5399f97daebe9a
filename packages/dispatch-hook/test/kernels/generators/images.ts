import { backend_util } from "@tensorflow/tfjs-core";
import fc from "fast-check";
import {
  type Dtype,
  dimension,
  fixedShape,
  flag,
  type Generators,
  kernelCase,
  mostlyNumeric,
  numeric,
  positive,
  realNumber,
  t,
} from "./kernel-case.js";

const images = fixedShape(dimension, positive, positive, positive);
const some = fixedShape(positive, positive, positive, positive);
const size = fc.tuple(positive, positive);

const resize = fc
  .tuple(images, size, flag, flag, mostlyNumeric)
  .map(([of, to, alignCorners, halfPixelCenters, dtype]) =>
    kernelCase(
      { images: t(of, dtype) },
      { size: to, alignCorners, halfPixelCenters: !alignCorners && halfPixelCenters },
    ),
  );

const resizeGrad = fc
  .tuple(images, size, flag, mostlyNumeric)
  .map(([of, to, alignCorners, dtype]) =>
    kernelCase({ images: t(of, dtype), dy: t([of[0], ...to, of[3]]) }, { alignCorners }),
  );

const boxes = fc.record({
  n: dimension,
  maxOutputSize: fc.nat(3),
  iouThreshold: fc.constantFrom(0.3, 0.9),
  scoreThreshold: fc.constantFrom(0, 0.5),
  softNmsSigma: fc.constantFrom(0, 0.5),
  padToMaxOutputSize: flag,
});
const suppression = boxes.map(({ n, ...attributes }) => kernelCase({ boxes: t([n, 4]), scores: t([n]) }, attributes));

const step = fc.integer({ min: 1, max: 2 });
const dilation = fc.record({
  x: fixedShape(positive, fc.integer({ min: 3, max: 5 }), fc.integer({ min: 3, max: 5 }), positive),
  filter: fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 2 })),
  strides: fc.oneof(step, fc.tuple(step, step)),
  dilations: fc.oneof(step, fc.tuple(step, step)),
  pad: fc.constantFrom("same", "valid"),
  dtype: realNumber,
});

type Dilation = typeof dilation extends fc.Arbitrary<infer D> ? D : never;

function dilationCase({ x, filter, dtype, ...attributes }: Dilation, backward: boolean) {
  const inputs = { x: t(x, dtype), filter: t([...filter, x[3]], dtype) };
  if (!backward) return kernelCase(inputs, attributes);
  const { strides, pad, dilations } = attributes as unknown as Record<string, never>;
  const { outShape } = backend_util.computeDilation2DInfo(
    x as never,
    inputs.filter.shape as never,
    strides,
    pad,
    "NHWC",
    dilations,
  );
  return kernelCase({ ...inputs, dy: t(outShape, dtype) }, attributes);
}

export const imageGenerators: Generators = {
  CropAndResize: fc
    .tuple(some, dimension, size, fc.constantFrom("bilinear", "nearest"), fc.nat(2))
    .map(([of, n, cropSize, method, extrapolationValue]) =>
      kernelCase(
        { image: t(of), boxes: t([n, 4]), boxInd: t([n], "int32", new Array<number>(n).fill(0)) },
        { cropSize, method, extrapolationValue },
      ),
    ),
  Dilation2D: dilation.map((d) => dilationCase(d, false)),
  Dilation2DBackpropFilter: dilation.map((d) => dilationCase(d, true)),
  Dilation2DBackpropInput: dilation.map((d) => dilationCase(d, true)),
  Draw: some.map(([height, width]) =>
    kernelCase({ image: t([height, width], "int32") }, { canvas: canvas(), options: {} }),
  ),
  FlipLeftRight: fc.tuple(images, numeric).map(([of, dtype]) => kernelCase({ image: t(of, dtype) })),
  NonMaxSuppressionV3: suppression,
  NonMaxSuppressionV4: suppression,
  NonMaxSuppressionV5: suppression,
  ResizeBilinear: resize,
  ResizeBilinearGrad: resizeGrad,
  ResizeNearestNeighbor: resize,
  // The cpu kernel never ends where it aligns the corners of an image of one pixel.
  ResizeNearestNeighborGrad: resizeGrad.map(({ inputs }) => kernelCase(inputs, { alignCorners: false })),
  RotateWithOffset: fc
    .tuple(
      images,
      numeric,
      fc.constantFrom(0, 0.5),
      fc.oneof(fc.nat(255), fc.constant([1, 2, 3])),
      fc.oneof(fc.constant(0.5), fc.constant([0.25, 0.75])),
    )
    .map(([of, dtype, radians, fillValue, center]) =>
      kernelCase({ image: t(of, dtype) }, { radians, fillValue, center }),
    ),
  Transform: fc
    .tuple(
      images,
      numeric,
      flag,
      fc.constantFrom("nearest", "bilinear"),
      fc.constantFrom("reflect", "wrap", "constant", "nearest"),
      fc.nat(3),
      fc.option(size, { nil: null }),
    )
    .map(([of, dtype, single, interpolation, fillMode, fillValue, outputShape]) =>
      kernelCase(
        { image: t(of, dtype), transforms: t([single ? 1 : of[0], 8]) },
        { interpolation, fillMode, fillValue, outputShape },
      ),
    ),
};

/** The parts of a canvas that `Draw` needs. */
function canvas(): object {
  return { getContext: () => ({ putImageData: () => undefined }) };
}

const batchNorm = fc.record({
  of: fc.array(positive, { minLength: 1, maxLength: 4 }),
  dtype: mostlyNumeric,
  full: flag,
  scale: flag,
  offset: flag,
  wrong: fc.constantFrom(false, false, false, false, false, true),
  varianceEpsilon: fc.constantFrom(undefined, 0.01),
});

export const normalizationGenerators: Generators = {
  FusedBatchNorm: batchNorm.map(({ of, dtype, full, scale, offset, wrong, varianceEpsilon }) => {
    const float: Dtype = "float32";
    const per = t(full ? of : of.slice(-1), float);
    const inputs = {
      x: t(of, dtype),
      mean: per,
      variance: wrong ? t([...per.shape, 1], float) : per,
      ...(scale && { scale: per }),
      ...(offset && { offset: per }),
    };
    return kernelCase(inputs, { varianceEpsilon });
  }),
  LRN: fc
    .tuple(some, mostlyNumeric)
    .map(([of, dtype]) => kernelCase({ x: t(of, dtype) }, { depthRadius: 2, bias: 1, alpha: 1, beta: 0.5 })),
  LRNGrad: fc
    .tuple(some, mostlyNumeric)
    .map(([of, dtype]) =>
      kernelCase({ x: t(of, dtype), y: t(of, dtype), dy: t(of) }, { depthRadius: 2, bias: 1, alpha: 1, beta: 0.5 }),
    ),
};
