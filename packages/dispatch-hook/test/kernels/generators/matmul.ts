import fc from "fast-check";
import {
  anyShape,
  broadcastPair,
  type Dtype,
  dimension,
  flag,
  type Generators,
  kernelCase,
  mostlyNumeric,
  numeric,
  type TensorSpec,
  t,
  tensor,
} from "./kernel-case.js";

const activation = fc.constantFrom(
  undefined,
  null,
  "linear",
  "relu",
  "elu",
  "relu6",
  "sigmoid",
  "leakyrelu",
  "prelu",
  "other",
);

const matrices = fc
  .record({
    batch: broadcastPair,
    m: dimension,
    k: dimension,
    n: dimension,
    slip: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
    transposeA: flag,
    transposeB: flag,
    p: mostlyNumeric,
    q: numeric,
  })
  .map(({ batch: [outerA, outerB], m, k, n, slip, transposeA, transposeB, p, q }) => ({
    a: t([...outerA.slice(-2), ...(transposeA ? [k, m] : [m, k])], p),
    b: t([...outerB.slice(-2), ...(transposeB ? [n, k + slip] : [k + slip, n])], q),
    out: [m, n],
    attributes: { transposeA, transposeB },
  }));

const fused = fc
  .record({
    product: matrices,
    bias: flag,
    biasRank: fc.constantFrom(0, 1, 2),
    activation,
    dtype: fc.constant<Dtype>("float32"),
  })
  .map(({ product: { a, b, out, attributes }, bias, biasRank, activation: name, dtype }) => {
    const inputs: Record<string, TensorSpec> = { a, b };
    if (bias) inputs.bias = t(out.slice(2 - biasRank), dtype);
    if (name === "prelu") inputs.preluActivationWeights = t([out[1]], dtype);
    return kernelCase(inputs, { ...attributes, activation: name, leakyreluAlpha: 0.2 });
  });

/** Equations over at most four letters, whose operands have the letters' sizes. */
const einsum = fc
  .tuple(
    fc.array(fc.uniqueArray(fc.constantFrom("i", "j", "k", "l"), { maxLength: 3 }), { minLength: 1, maxLength: 2 }),
    fc.array(dimension, { minLength: 4, maxLength: 4 }),
    numeric,
    flag,
  )
  .chain(([terms, sizes, dtype, shuffled]) => {
    const letters = [...new Set(terms.flat())];
    return fc.subarray(letters).chain((output) => {
      const ordered = shuffled ? [...output].reverse() : output;
      const equation = `${terms.map((term) => term.join("")).join(",")}->${ordered.join("")}`;
      const size = (letter: string): number => sizes["ijkl".indexOf(letter)];
      return fc.constant(
        kernelCase(
          terms.map((term) => t(term.map(size), dtype)),
          { equation },
        ),
      );
    });
  });

export const matmulGenerators: Generators = {
  _FusedMatMul: fused,
  BatchMatMul: fc.oneof(
    { weight: 9, arbitrary: matrices.map(({ a, b, attributes }) => kernelCase({ a, b }, attributes)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tensor(anyShape), tensor(anyShape))
        .filter(([a, b]) => a.shape.length >= 2 && b.shape.length >= 2)
        .map(([a, b]) => kernelCase({ a, b }, { transposeA: false, transposeB: false })),
    },
  ),
  Einsum: einsum,
};
