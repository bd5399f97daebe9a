import type { KernelAttributes } from "../kernels/index.js";

/** Shape and dtype of a tensor, which are all that the rules need. */
export interface TensorShape {
  /** The shape. */
  readonly shape: readonly number[];
  /** The dtype. */
  readonly dtype: string;
}

/**
 * An output that shares an input's buffer. A complex tensor on the cpu backend has two buffers, its `real` and `imag`
 * parts.
 */
export interface SharedBuffer<T extends TensorShape = TensorShape> {
  /** Index of the kernel's output. */
  readonly output: number;
  /** The part of a complex output. */
  readonly outputPart?: "real" | "imag";
  /** The input. */
  readonly input: T;
  /** The part of a complex input. */
  readonly inputPart?: "real" | "imag";
}

/** Returns the outputs that share for one kernel of one backend. Undefined if none does. @internal */
export type SharingRule = <T extends TensorShape>(
  inputs: Readonly<Record<string, T>>,
  attributes: KernelAttributes,
) => readonly SharedBuffer<T>[] | undefined;

/** The rules of a backend by kernel. */
export type SharingTable = ReadonlyMap<string, SharingRule>;

/** The only output shares all of `input`. @internal */
export const whole = <T extends TensorShape>(input: T): readonly SharedBuffer<T>[] => [{ output: 0, input }];

/** A rule for kernels whose only output always shares all of one input. @internal */
export const alwaysWhole =
  (name: string): SharingRule =>
  (inputs) =>
    whole(inputs[name]);

/**
 * Returns the outputs of a kernel that cuts `input` into pieces of `sizes` along `axis`, limited to those that `shares`
 * accepts. @internal
 */
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

/**
 * Returns the list of tensors of `Concat`, `Pack` and `Einsum`, which TensorFlow.js passes instead of a map. @internal
 */
export const listOf = <T extends TensorShape>(inputs: Readonly<Record<string, T>>): readonly T[] =>
  Object.values(inputs);
