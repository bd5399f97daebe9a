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
  tensor,
} from "./kernel-case.js";

const sizeOf = (of: readonly number[]): number => of.reduce((a, b) => a * b, 1);
const anyDtype: fc.Arbitrary<Dtype> = fc.constantFrom("float32", "int32", "bool", "string", "complex64");

const cast = fc
  .tuple(
    anyShape,
    fc.constantFrom<Dtype>("float32", "int32", "bool", "complex64"),
    fc.constantFrom<Dtype>("float32", "int32", "bool", "complex64"),
  )
  .map(([of, from, dtype]) => kernelCase({ x: t(of, from) }, { dtype }));

/** Shapes that differ along one axis only, and one time in eight elsewhere. */
const concat = shape(1, 3).chain((of) =>
  fc
    .record({
      axis: axisOf(of.length),
      lengths: fc.array(dimension, { minLength: 1, maxLength: 4 }),
      dtype: anyDtype,
      slip: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
    })
    .map(({ axis, lengths, dtype, slip }) => {
      const along = axis < 0 ? axis + of.length : axis;
      const shapes = lengths.map((length, i) => of.map((dim, j) => (j === along ? length : dim + (i > 0 ? slip : 0))));
      return kernelCase(
        shapes.map((s) => t(s, dtype)),
        { axis },
      );
    }),
);

const pack = anyShape.chain((of) =>
  fc.tuple(fc.integer({ min: 1, max: 3 }), axisOf(of.length + 1), numeric).map(([n, axis, dtype]) =>
    kernelCase(
      Array.from({ length: n }, () => t(of, dtype)),
      { axis },
    ),
  ),
);

const reshape = fc.array(positive, { maxLength: 4 }).chain((of) =>
  fc
    .tuple(
      fc.shuffledSubarray(of, { minLength: of.length }),
      fc.option(fc.nat(of.length), { nil: undefined }),
      anyDtype,
      fc.constantFrom(0, 0, 0, 0, 0, 1),
    )
    .map(([to, open, dtype, slip]) => {
      const target =
        open === undefined ? to : open < to.length ? to.map((dim, i) => (i === open ? -1 : dim)) : [...to, -1];
      return kernelCase({ x: t(of, dtype) }, { shape: slip === 1 ? [...target, 3] : target });
    }),
);

const emptyReshape = shape(1, 3).map((rest) => kernelCase({ x: t([0, ...rest]) }, { shape: [...rest, 0] }));

const splitV = shape(1, 4).chain((of) =>
  fc
    .tuple(axisOf(of.length), mostlyNumeric, fc.integer({ min: 1, max: 4 }), flag, flag)
    .map(([axis, dtype, parts, even, open]) => {
      const length = of.at(axis < 0 ? axis : axis) ?? 0;
      if (even) return kernelCase({ x: t(of, dtype) }, { axis, numOrSizeSplits: parts });
      const first = Math.min(parts, length);
      return kernelCase({ x: t(of, dtype) }, { axis, numOrSizeSplits: open ? [first, -1] : [first, length - first] });
    }),
);

const transpose = tensor(anyShape, mostlyNumeric).chain((x) =>
  fc
    .shuffledSubarray([...Array(x.shape.length).keys()], { minLength: x.shape.length })
    .map((perm) => kernelCase({ x }, { perm })),
);

const reverse = tensor(anyShape, mostlyNumeric).chain((x) => {
  const rank = x.shape.length;
  const dims =
    rank === 0 ? fc.constant([]) : fc.option(fc.uniqueArray(axisOf(rank), { maxLength: rank }), { nil: undefined });
  return dims.map((chosen) => kernelCase({ x }, { dims: chosen }));
});

export const arrayGenerators: Generators = {
  BroadcastArgs: fc.tuple(fc.array(positive, { maxLength: 4 }), fc.nat(4)).map(([of, drop]) => {
    const part = of.map((dim, i) => (i % 2 === 0 ? 1 : dim)).slice(Math.min(drop, of.length));
    return kernelCase({ s0: t([of.length], "int32", of), s1: t([part.length], "int32", part) });
  }),
  Cast: cast,
  Concat: concat,
  ExpandDims: tensor(anyShape, anyDtype).chain((input) =>
    fc.integer({ min: -input.shape.length - 1, max: input.shape.length }).map((dim) => kernelCase({ input }, { dim })),
  ),
  Identity: tensor(anyShape, anyDtype).map((x) => kernelCase({ x })),
  Pack: pack,
  Reshape: fc.oneof({ weight: 9, arbitrary: reshape }, { weight: 1, arbitrary: emptyReshape }),
  Reverse: reverse,
  SplitV: splitV,
  Transpose: transpose,
  Unpack: tensor(shape(1, 4), mostlyNumeric).chain((value) =>
    axisOf(value.shape.length).map((axis) => kernelCase({ value }, { axis })),
  ),
};

const paddings = (of: readonly number[], most: number): fc.Arbitrary<[number, number][]> =>
  fc.array(fc.tuple(fc.nat(most), fc.nat(most)), { minLength: of.length, maxLength: of.length });

const batchToSpace = fc
  .record({
    blockShape: fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 1, maxLength: 2 }),
    batch: positive,
    spatial: fc.array(positive, { minLength: 2, maxLength: 2 }),
    rest: shape(0, 1),
    crop: fc.nat(1),
    dtype: mostlyNumeric,
  })
  .map(({ blockShape, batch, spatial, rest, crop, dtype }) => {
    const x = t([batch * sizeOf(blockShape), ...spatial.slice(0, blockShape.length), ...rest], dtype);
    return kernelCase(
      { x },
      { blockShape, crops: blockShape.map((block, i) => [crop < block * spatial[i] ? crop : 0, 0]) },
    );
  });

const spaceToBatch = fc
  .record({
    blockShape: fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 1, maxLength: 2 }),
    batch: positive,
    spatial: fc.array(positive, { minLength: 2, maxLength: 2 }),
    rest: shape(0, 1),
    before: fc.nat(1),
    dtype: mostlyNumeric,
  })
  .map(({ blockShape, batch, spatial, rest, before, dtype }) => {
    const x = t([batch, ...spatial.slice(0, blockShape.length), ...rest], dtype);
    return kernelCase(
      { x },
      {
        blockShape,
        paddings: blockShape.map((block, i) => [before, (block - ((spatial[i] + before) % block)) % block]),
      },
    );
  });

export const tilingGenerators: Generators = {
  BatchToSpaceND: batchToSpace,
  DepthToSpace: fc
    .tuple(dimension, positive, positive, positive, fc.integer({ min: 1, max: 2 }), numeric)
    .map(([n, h, w, c, blockSize, dtype]) =>
      kernelCase({ x: t([n, h, w, c * blockSize * blockSize], dtype) }, { blockSize, dataFormat: "NHWC" }),
    ),
  Diag: tensor(anyShape, numeric).map((x) => kernelCase({ x })),
  MirrorPad: shape(0, 4, fc.integer({ min: 2, max: 4 })).chain((of) =>
    fc
      .tuple(paddings(of, 1), mostlyNumeric, fc.constantFrom("reflect", "symmetric"))
      .map(([p, dtype, mode]) => kernelCase({ x: t(of, dtype) }, { paddings: p, mode })),
  ),
  PadV2: anyShape.chain((of) =>
    fc
      .tuple(paddings(of, 2), mostlyNumeric, fc.nat(3))
      .map(([p, dtype, constantValue]) => kernelCase({ x: t(of, dtype) }, { paddings: p, constantValue })),
  ),
  SpaceToBatchND: spaceToBatch,
  Tile: anyShape.chain((of) =>
    fc
      .tuple(fc.array(fc.nat(2), { minLength: of.length, maxLength: of.length }), mostlyNumeric)
      .map(([reps, dtype]) => kernelCase({ x: t(of, dtype) }, { reps })),
  ),
};
