import fc from "fast-check";
import {
  anyShape,
  axesOf,
  axisOf,
  dimension,
  flag,
  type Generators,
  kernelCase,
  mostlyNumeric,
  numeric,
  positive,
  shape,
  t,
  tensor,
} from "./kernel-case.js";

const reduction = (name: "axis" | "reductionIndices") =>
  tensor(anyShape, mostlyNumeric).chain((x) => {
    const rank = x.shape.length;
    const some = fc.oneof(axesOf(rank), fc.constant(null), fc.constant(undefined), ...(rank > 0 ? [axisOf(rank)] : []));
    const axes = fc.oneof({ weight: 12, arbitrary: some }, { weight: 1, arbitrary: fc.constant([rank]) });
    return fc.tuple(axes, flag).map(([axis, keepDims]) => kernelCase({ x }, { [name]: axis, keepDims }));
  });

const argument = tensor(shape(1, 4), mostlyNumeric).chain((x) =>
  fc
    .oneof(
      axisOf(x.shape.length),
      axisOf(x.shape.length).map((axis) => [axis]),
    )
    .map((axis) => kernelCase({ x }, { axis })),
);

const cumulative = tensor(shape(1, 4), mostlyNumeric).chain((x) =>
  fc
    .tuple(fc.nat(x.shape.length - 1), flag, flag)
    .map(([axis, exclusive, reverse]) => kernelCase({ x }, { axis, exclusive, reverse })),
);

const counted = fc
  .tuple(shape(1, 2), flag, flag, fc.integer({ min: 3, max: 6 }), flag)
  .map(([of, weighted, floats, size, binaryOutput]) => {
    const weights = weighted ? t(of, floats ? "float32" : "int32") : t([0], floats ? "float32" : "int32");
    return kernelCase({ x: t(of, "int32"), weights }, { size, binaryOutput });
  });

const topK = shape(1, 4, positive)
  .filter((of) => of.length > 0)
  .chain((of) =>
    fc
      .tuple(numeric, fc.integer({ min: 0, max: of[of.length - 1] }), flag)
      .map(([dtype, k, sorted]) => kernelCase({ x: t(of, dtype) }, { k, sorted })),
  );

export const reductionGenerators: Generators = {
  All: reduction("axis"),
  Any: reduction("axis"),
  ArgMax: argument,
  ArgMin: argument,
  Bincount: counted.filter(({ inputs }) => (inputs as unknown as { x: { shape: number[] } }).x.shape.length === 1),
  Cumprod: cumulative,
  Cumsum: cumulative,
  DenseBincount: counted,
  Max: reduction("reductionIndices"),
  Mean: reduction("axis"),
  Min: reduction("axis"),
  Prod: reduction("axis"),
  Softmax: tensor(shape(1, 4), mostlyNumeric).chain((logits) =>
    fc.constantFrom(-1, logits.shape.length - 1, logits.shape.length - 2).map((dim) => kernelCase({ logits }, { dim })),
  ),
  Sum: reduction("axis"),
  TopK: topK,
  UnsortedSegmentSum: fc
    .tuple(dimension, shape(0, 3), numeric, fc.integer({ min: 0, max: 4 }))
    .map(([n, rest, dtype, numSegments]) =>
      kernelCase({ x: t([n, ...rest], dtype), segmentIds: t([n], "int32") }, { numSegments }),
    ),
};
