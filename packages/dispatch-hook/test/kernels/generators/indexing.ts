import fc from "fast-check";
import {
  anyShape,
  axisOf,
  type Dtype,
  dimension,
  flag,
  type Generators,
  kernelCase,
  mostlyNumeric,
  numeric,
  positive,
  shape,
  t,
} from "./kernel-case.js";

const int: Dtype = "int32";
const zeros = (n: number): number[] => new Array<number>(n).fill(0);
const sizeOf = (of: readonly number[]): number => of.reduce((a, b) => a * b, 1);

const slice = anyShape.chain((of) =>
  fc
    .record({
      from: fc.array(fc.nat(2), { minLength: of.length, maxLength: of.length }),
      lengths: fc.array(fc.integer({ min: -1, max: 3 }), { minLength: of.length, maxLength: of.length }),
      short: flag,
      number: flag,
      dtype: mostlyNumeric,
    })
    .map(({ from, lengths, short, number, dtype }) => {
      const begin = from.map((b, i) => Math.min(b, of[i]));
      const size = lengths.map((length, i) => (length < 0 ? -1 : Math.min(length, of[i] - begin[i])));
      const x = t(of, dtype);
      if (number && of.length > 0) return kernelCase({ x }, { begin: begin[0], size: size[0] });
      return short
        ? kernelCase({ x }, { begin: begin.slice(0, -1), size: size.slice(0, -1) })
        : kernelCase({ x }, { begin, size });
    }),
);

const mask = fc.nat(7);
const stridedSlice = shape(1, 3, positive).chain((of) =>
  fc
    .record({
      spec: fc.array(
        fc.tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -3, max: 4 }), fc.constantFrom(1, 1, 2, -1)),
        { minLength: 1, maxLength: of.length },
      ),
      beginMask: mask,
      endMask: mask,
      ellipsisMask: fc.constantFrom(0, 0, 1, 2),
      newAxisMask: fc.constantFrom(0, 0, 1, 2),
      shrinkAxisMask: fc.constantFrom(0, 0, 1, 2),
      dtype: mostlyNumeric,
      noStrides: flag,
    })
    .map(({ spec, dtype, noStrides, ...masks }) =>
      kernelCase(
        { x: t(of, dtype) },
        {
          begin: spec.map((s) => s[0]),
          end: spec.map((s) => s[1]),
          strides: noStrides ? undefined : spec.map((s) => s[2]),
          ...masks,
        },
      ),
    ),
);

const gather = shape(1, 4, positive).chain((of) =>
  fc
    .record({
      axis: axisOf(of.length),
      indices: shape(0, 2, positive),
      batchDims: fc.constantFrom(0, 0, 0, 1, undefined),
      dtype: mostlyNumeric,
    })
    .map(({ axis, indices, batchDims, dtype }) => {
      const shaped = batchDims === 1 ? [of[0], ...indices] : indices;
      return kernelCase({ x: t(of, dtype), indices: t(shaped, int, zeros(sizeOf(shaped))) }, { axis, batchDims });
    }),
);

const gatherNd = shape(1, 3, positive).chain((of) =>
  fc.tuple(fc.nat(of.length), shape(0, 2), numeric).map(([depth, outer, dtype]) => {
    const indices = [...outer, depth];
    return kernelCase({ params: t(of, dtype), indices: t(indices, int, zeros(sizeOf(indices))) });
  }),
);

const scatter = shape(1, 3, positive).chain((to) =>
  fc.tuple(fc.integer({ min: 1, max: to.length }), dimension, numeric).map(([depth, n, dtype]) => ({
    to,
    indices: t([n, depth], int, zeros(n * depth)),
    updates: t([n, ...to.slice(depth)], dtype),
  })),
);

export const indexingGenerators: Generators = {
  GatherNd: gatherNd,
  GatherV2: gather,
  ScatterNd: scatter.map(({ to, indices, updates }) => kernelCase({ indices, updates }, { shape: to })),
  SearchSorted: fc
    .tuple(positive, positive, dimension, fc.constantFrom("left", "right"))
    .map(([rows, m, n, side]) => kernelCase({ sortedSequence: t([rows, m]), values: t([rows, n]) }, { side })),
  Slice: slice,
  SparseToDense: fc
    .tuple(scatter, fc.constantFrom<Dtype>("float32", "int32", "bool", "string"), flag)
    .map(([{ to, indices, updates }, dtype, scalar]) => {
      const flat = {
        sparseIndices: t([indices.shape[0], to.length], int, zeros(indices.shape[0] * to.length)),
        sparseValues: t(scalar ? [] : [updates.shape[0]], dtype),
      };
      return kernelCase({ ...flat, defaultValue: t([], dtype) }, { outputShape: to });
    }),
  StridedSlice: stridedSlice,
  TensorScatterUpdate: fc
    .tuple(scatter, numeric)
    .map(([{ to, indices, updates }, dtype]) => kernelCase({ tensor: t(to, dtype), indices, updates })),
  Unique: fc.tuple(shape(1, 3, positive), numeric).map(([of, dtype]) => kernelCase({ x: t(of, dtype) }, { axis: 0 })),
};
