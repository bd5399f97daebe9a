import type { KernelAttributes } from "../kernels/index.js";

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
