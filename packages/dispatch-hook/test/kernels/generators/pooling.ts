import { backend_util } from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { padding2D, pair, rounding } from "./convolution.js";
import {
  dimension,
  flag,
  type Generators,
  kernelCase,
  mostlyNumeric,
  positive,
  type TensorSpec,
  t,
} from "./kernel-case.js";

const size = fc.integer({ min: 3, max: 6 });
const filterSize = fc.oneof(
  fc.integer({ min: 1, max: 3 }),
  fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
);

const pool2D = fc
  .record({
    x: fc.tuple(dimension, size, size, positive),
    dtype: mostlyNumeric,
    filterSize,
    strides: pair,
    pad: padding2D,
    dimRoundingMode: rounding,
    includeBatchInIndex: flag,
  })
  .map(({ x, dtype, pad, dimRoundingMode, ...rest }) => ({
    x: t(x, dtype),
    attributes: { ...rest, pad, dimRoundingMode: typeof pad === "string" ? undefined : (dimRoundingMode ?? "floor") },
  }));

const size3D = fc.oneof(
  fc.integer({ min: 1, max: 2 }),
  fc.tuple(fc.integer({ min: 1, max: 2 }), fc.constant(1), fc.constant(2)),
);

const pool3D = fc.record({
  x: fc.tuple(dimension, size, size, size, positive).chain((shape) => mostlyNumeric.map((dtype) => t(shape, dtype))),
  attributes: fc.record({
    filterSize: size3D,
    strides: size3D,
    pad: fc.constantFrom("same", "valid", 0),
    dimRoundingMode: fc.constantFrom("floor", "ceil"),
    dataFormat: fc.constant("NDHWC"),
  }),
});

/** The shape of what the layer puts out, if its attributes fit together at all. */
function pooledShape({ x, attributes }: { x: TensorSpec; attributes: object }): readonly number[] {
  const { filterSize, strides, pad, dimRoundingMode } = attributes as Record<string, never>;
  const info = x.shape.length === 4 ? backend_util.computePool2DInfo : backend_util.computePool3DInfo;
  try {
    return info(x.shape as never, filterSize, strides, 1, pad, dimRoundingMode).outShape;
  } catch {
    return x.shape;
  }
}

const gradient = (of: typeof pool2D | typeof pool3D, withOutput: boolean) =>
  (of as typeof pool2D).map((layer) => {
    const input = t(layer.x.shape, layer.x.dtype === "complex64" ? "float32" : layer.x.dtype);
    const out = pooledShape(layer);
    const dy = t(out, "float32");
    return kernelCase(withOutput ? { dy, input, output: t(out, input.dtype) } : { dy, input }, layer.attributes);
  });

export const poolingGenerators: Generators = {
  AvgPool: pool2D.map(({ x, attributes }) => kernelCase({ x }, attributes)),
  AvgPool3D: pool3D.map(({ x, attributes }) => kernelCase({ x }, attributes)),
  AvgPool3DGrad: gradient(pool3D, false),
  AvgPoolGrad: gradient(pool2D, false),
  MaxPool: pool2D.map(({ x, attributes }) => kernelCase({ x }, attributes)),
  MaxPool3D: pool3D.map(({ x, attributes }) => kernelCase({ x }, attributes)),
  MaxPool3DGrad: gradient(pool3D, true),
  MaxPoolGrad: gradient(pool2D, true),
  MaxPoolWithArgmax: pool2D.map(({ x, attributes: { dimRoundingMode: _, ...attributes } }) =>
    kernelCase({ x }, attributes),
  ),
};
