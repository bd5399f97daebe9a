import fc from "fast-check";
import {
  anyShape,
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

const complex: Dtype = "complex64";
const float: Dtype = "float32";
const int: Dtype = "int32";

export const spectralGenerators: Generators = {
  Complex: anyShape.map((of) => kernelCase({ real: t(of, float), imag: t(of, float) })),
  ComplexAbs: anyShape.map((of) => kernelCase({ x: t(of, complex) })),
  FFT: shape(1, 3, positive).map((of) => kernelCase({ input: t(of, complex) })),
  IFFT: shape(1, 3, positive).map((of) => kernelCase({ input: t(of, complex) })),
  Imag: anyShape.map((of) => kernelCase({ input: t(of, complex) })),
  Real: anyShape.map((of) => kernelCase({ input: t(of, complex) })),
};

const orString = fc.oneof(
  { weight: 9, arbitrary: mostlyNumeric },
  { weight: 1, arbitrary: fc.constant<Dtype>("string") },
);

export const creationGenerators: Generators = {
  Fill: fc
    .tuple(anyShape, fc.constantFrom(undefined, "float32", "int32", "bool", "string"), fc.nat(3))
    .map(([of, dtype, value]) => kernelCase({}, { shape: of, value: dtype === "string" ? "a" : value, dtype })),
  LinSpace: fc
    .tuple(fc.integer(), fc.integer(), positive)
    .map(([start, stop, num]) => kernelCase({}, { start, stop, num })),
  Multinomial: fc
    .tuple(positive, fc.integer({ min: 2, max: 4 }), dimension, flag)
    .map(([rows, outcomes, numSamples, normalized]) =>
      kernelCase({ logits: t([rows, outcomes]) }, { numSamples, seed: 7, normalized }),
    ),
  OneHot: fc
    .tuple(anyShape, fc.constantFrom(float, int, "bool"), fc.integer({ min: 3, max: 5 }))
    .map(([of, dtype, depth]) => kernelCase({ indices: t(of, int) }, { dtype, depth, onValue: 1, offValue: 0 })),
  OnesLike: tensor(anyShape, orString).map((x) => kernelCase({ x })),
  Range: fc
    .tuple(
      fc.integer({ min: -9, max: 9 }),
      fc.integer({ min: -9, max: 9 }),
      fc.constantFrom(1, 2, -1, -2, 0.5),
      fc.constantFrom(float, int),
    )
    .map(([start, stop, step, dtype]) => kernelCase({}, { start, stop, step, dtype })),
  ZerosLike: tensor(anyShape, orString).map((x) => kernelCase({ x })),
};

const words = fc.array(fc.constantFrom("a b", "b", "", "ab cd"), { minLength: 0, maxLength: 4 });

export const stringGenerators: Generators = {
  StaticRegexReplace: words.map((values) =>
    kernelCase({ x: t([values.length], "string", values) }, { pattern: "a", rewrite: "c", replaceGlobal: true }),
  ),
  StringNGrams: words.map((values) =>
    kernelCase(
      { data: t([values.length], "string", values), dataSplits: t([2], int, [0, values.length]) },
      { separator: "|", nGramWidths: [2], leftPad: "<", rightPad: ">", padWidth: 0, preserveShortSequences: false },
    ),
  ),
  StringSplit: fc
    .tuple(words, flag)
    .map(([values, skipEmpty]) =>
      kernelCase({ input: t([values.length], "string", values), delimiter: t([], "string", [" "]) }, { skipEmpty }),
    ),
  StringToHashBucketFast: fc
    .tuple(words, fc.nat(3), fc.constantFrom<Dtype>("string", "string", "string", "int32"))
    .map(([values, numBuckets, dtype]) =>
      kernelCase(
        { input: dtype === "string" ? t([values.length], dtype, values) : t([values.length], dtype) },
        { numBuckets },
      ),
    ),
};

/** Segment ids that grow, over as many indices. */
const segments = fc
  .tuple(positive, shape(0, 2, positive), fc.array(fc.nat(1), { maxLength: 4 }), numeric)
  .map(([n, rest, steps, dtype]) => {
    let id = 0;
    const ids = steps.map((step) => (id += step));
    return kernelCase({
      data: t([n, ...rest], dtype),
      indices: t(
        [ids.length],
        int,
        ids.map(() => 0),
      ),
      segmentIds: t([ids.length], int, ids),
    });
  });

export const raggedSparseGenerators: Generators = {
  RaggedGather: fc.constant(
    kernelCase(
      { paramsNestedSplits: [t([3], int, [0, 1, 3])], paramsDenseValues: t([3]), indices: t([1], int, [0]) },
      { outputRaggedRank: 1 },
    ),
  ),
  RaggedRange: fc
    .tuple(positive, fc.nat(3))
    .map(([n, limit]) =>
      kernelCase({ starts: t([n], float), limits: t([], float, [limit]), deltas: t([], float, [1]) }),
    ),
  RaggedTensorToTensor: fc.constant(
    kernelCase(
      {
        shape: t([2], int, [2, 2]),
        values: t([3]),
        defaultValue: t([]),
        rowPartitionTensors: [t([3], int, [0, 1, 3])],
      },
      { rowPartitionTypes: ["ROW_SPLITS"] },
    ),
  ),
  SparseFillEmptyRows: fc.tuple(positive, positive).map(([rows, columns]) =>
    kernelCase({
      indices: t([1, 2], int, [0, 0]),
      values: t([1]),
      denseShape: t([2], int, [rows, columns]),
      defaultValue: t([]),
    }),
  ),
  SparseReshape: fc.tuple(positive, positive, dimension).map(([m, n, count]) =>
    kernelCase({
      inputIndices: t([count, 2], int, new Array<number>(2 * count).fill(0)),
      inputShape: t([2], int, [m, n]),
      newShape: t([3], int, [n, -1, 1]),
    }),
  ),
  SparseSegmentMean: segments,
  SparseSegmentSum: segments,
};
