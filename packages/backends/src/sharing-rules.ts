import type { KernelAttributes } from "@remat/kernels";
import { slice_util, util } from "@tensorflow/tfjs-core";

/** Shape and dtype, all that the rules look at. */
export interface TensorShape {
  readonly shape: readonly number[];
  readonly dtype: string;
}

/** An output that lives in an input's buffer. A complex tensor on the cpu backend has two buffers, its `real` and `imag` parts. */
export interface SharedBuffer<T extends TensorShape = TensorShape> {
  /** Position among the kernel's outputs. */
  readonly output: number;
  readonly outputPart?: "real" | "imag";
  readonly input: T;
  readonly inputPart?: "real" | "imag";
}

/** Says for one kernel of one backend which outputs share; `undefined` where none does. @internal */
export type SharingRule = <T extends TensorShape>(
  inputs: Readonly<Record<string, T>>,
  attributes: KernelAttributes,
) => readonly SharedBuffer<T>[] | undefined;

/** The rules of a backend, by kernel. */
export type SharingTable = ReadonlyMap<string, SharingRule>;

/** The only output is all of `input`. @internal */
export const whole = <T extends TensorShape>(input: T): readonly SharedBuffer<T>[] => [{ output: 0, input }];

/** A rule for kernels whose only output always is all of one input. @internal */
export const alwaysWhole =
  (name: string): SharingRule =>
  (inputs) =>
    whole(inputs[name]);

/** Outputs of a kernel that cuts `input` in pieces of `sizes` along `axis`, of which those that `shares` accepts share. @internal */
export function sharedPieces<T extends TensorShape>(
  input: T,
  axis: number,
  sizes: readonly number[],
  shares: (begin: number[], size: number[]) => boolean,
): readonly SharedBuffer<T>[] {
  const begin = input.shape.map(() => 0);
  const shared: SharedBuffer<T>[] = [];
  sizes.forEach((piece, output) => {
    const size = [...input.shape];
    size[axis] = piece;
    if (shares(begin, size)) shared.push({ output, input });
    begin[axis] += piece;
  });
  return shared;
}

/** The list of tensors of `Concat`, `Pack` and `Einsum`, which tfjs passes in place of a map. @internal */
export const listOf = <T extends TensorShape>(inputs: Readonly<Record<string, T>>): readonly T[] =>
  Object.values(inputs);

/** `begin` and `size` of a Slice, without the shorthands that tfjs allows. @internal */
export function sliceBounds(x: TensorShape, { begin, size }: KernelAttributes): [begin: number[], size: number[]] {
  return slice_util.parseSliceParams(x as never, begin as number[], size as number[]) as [number[], number[]];
}

export interface StridedSliceBounds {
  readonly isIdentity: boolean;
  readonly sliceDim0: boolean;
  readonly isSimpleSlice: boolean;
  readonly begin: number[];
  readonly end: number[];
  readonly size: number[];
}

/** @internal */
export function stridedSliceBounds(x: TensorShape, attributes: KernelAttributes): StridedSliceBounds {
  const a = attributes as Record<string, never>;
  const info = slice_util.sliceInfo(
    x.shape as number[],
    a.begin,
    a.end,
    a.strides,
    a.beginMask,
    a.endMask,
    a.ellipsisMask,
    a.newAxisMask,
    a.shrinkAxisMask,
  );
  return { ...info, size: slice_util.computeOutShape(info.begin, info.end, info.strides) };
}

/** Sizes of the pieces of a SplitV and its axis, counted from the front. @internal */
export function splitPieces(x: TensorShape, attributes: KernelAttributes): { axis: number; sizes: number[] } {
  const [axis] = util.parseAxisParam(attributes.axis as number, x.shape as number[]);
  const given = attributes.numOrSizeSplits as number | number[];
  const length = x.shape[axis];
  if (typeof given === "number") return { axis, sizes: new Array<number>(given).fill(length / given) };
  const known = given.reduce((sum, size) => (size === -1 ? sum : sum + size), 0);
  return { axis, sizes: given.map((size) => (size === -1 ? length - known : size)) };
}

/** Axis and number of outputs of an Unpack. @internal */
export function unpackPieces(value: TensorShape, attributes: KernelAttributes): { axis: number; sizes: number[] } {
  const given = attributes.axis as number;
  const axis = given < 0 ? given + value.shape.length : given;
  return { axis, sizes: new Array<number>(value.shape[axis]).fill(1) };
}
