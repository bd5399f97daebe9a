import fc from "fast-check";

export type Dtype = "float32" | "int32" | "bool" | "string" | "complex64";

/** An input tensor; without values it is filled with 0, 1, 2, 0, … */
export interface TensorSpec {
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  readonly values?: readonly (number | string)[];
}

export interface KernelCase {
  readonly inputs: Readonly<Record<string, TensorSpec | readonly TensorSpec[]>> | readonly TensorSpec[];
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/** Inputs and attributes for each kernel of a family. */
export type Generators = Readonly<Record<string, fc.Arbitrary<KernelCase>>>;

export const t = (
  shape: readonly number[],
  dtype: Dtype = "float32",
  values?: readonly (number | string)[],
): TensorSpec => (values === undefined ? { shape, dtype } : { shape, dtype, values });

/** Mostly 1 to 4, now and then 0. */
export const dimension: fc.Arbitrary<number> = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.constant(0) },
);
export const positive: fc.Arbitrary<number> = fc.integer({ min: 1, max: 4 });
export const flag: fc.Arbitrary<boolean> = fc.boolean();

export const shape = (minLength: number, maxLength: number, of = dimension): fc.Arbitrary<number[]> =>
  fc.array(of, { minLength, maxLength });
export const anyShape: fc.Arbitrary<number[]> = shape(0, 4);
export const fixedShape = (...dims: (number | fc.Arbitrary<number>)[]): fc.Arbitrary<number[]> =>
  fc.tuple(...dims.map((dim) => (typeof dim === "number" ? fc.constant(dim) : dim)));

export const numeric: fc.Arbitrary<Dtype> = fc.constantFrom("float32", "int32", "bool");
export const realNumber: fc.Arbitrary<Dtype> = fc.constantFrom("float32", "int32");

/** A dtype that most kernels take, or complex64, which most refuse. */
export const mostlyNumeric: fc.Arbitrary<Dtype> = fc.oneof(
  { weight: 12, arbitrary: numeric },
  { weight: 1, arbitrary: fc.constant<Dtype>("complex64") },
);

export const tensor = (
  shapes: fc.Arbitrary<readonly number[]> = anyShape,
  dtype: fc.Arbitrary<Dtype> = numeric,
): fc.Arbitrary<TensorSpec> => fc.record({ shape: shapes, dtype });

/** Two shapes that broadcast; one time in ten they need not. */
export const broadcastPair: fc.Arbitrary<[number[], number[]]> = anyShape.chain((out) => {
  const part = fc
    .tuple(fc.integer({ min: 0, max: out.length }), fc.array(flag, { minLength: out.length, maxLength: out.length }))
    .map(([drop, ones]) => out.map((dim, i) => (ones[i] ? 1 : dim)).slice(drop));
  return fc.oneof(
    { weight: 9, arbitrary: fc.tuple(part, part) },
    { weight: 1, arbitrary: fc.tuple(anyShape, anyShape) },
  );
});

/** An axis of a tensor of this rank, from the front or from the end. */
export const axisOf = (rank: number): fc.Arbitrary<number> => fc.integer({ min: -rank, max: rank - 1 });

/** Distinct axes, some of them counted from the end. */
export const axesOf = (rank: number): fc.Arbitrary<number[]> =>
  fc
    .tuple(fc.subarray([...Array(rank).keys()]), fc.array(flag, { minLength: rank, maxLength: rank }))
    .map(([axes, fromEnd]) => axes.map((axis) => (fromEnd[axis] ? axis - rank : axis)));

export const kernelCase = (inputs: KernelCase["inputs"], attributes: KernelCase["attributes"] = {}): KernelCase => ({
  inputs,
  attributes,
});
