/** Gives indices of different things distinct types. Exists only at compile time. */
declare const indexOf: unique symbol;

/**
 * The index of an op in a trace, in execution order. Any index can be used as a number, but not as the index of
 * something else.
 */
export type OpIndex = number & { readonly [indexOf]?: "op" };
/** The index of a storage in a trace, in order of allocation. */
export type StorageIndex = number & { readonly [indexOf]?: "storage" };
/** The index of a tensor in a trace. */
export type TensorIndex = number & { readonly [indexOf]?: "tensor" };
/** The index of a module call in a trace, in the order in which calls began. */
export type CallIndex = number & { readonly [indexOf]?: "call" };
/** The index of a module in a trace. */
export type ModuleIndex = number & { readonly [indexOf]?: "module" };

/** A column whose values are of type `I`: an `Int32Array` at run time. */
export interface IndexColumn<I extends number> extends Int32Array {
  [index: number]: I;
  [Symbol.iterator](): ArrayIterator<I>;
  subarray(begin?: number, end?: number): IndexColumn<I>;
  at(index: number): I | undefined;
  values(): ArrayIterator<I>;
}

/**
 * Returns a column filled with `fill`, by default with zeros. -1 means none.
 *
 * @param length number of values
 */
export function newIndexColumn<I extends number>(length: number, fill = 0): IndexColumn<I> {
  const column = new Int32Array(length) as IndexColumn<I>;
  return fill === 0 ? column : (column.fill(fill) as IndexColumn<I>);
}

/**
 * Returns a number as the index of an op. Use it for the start of a loop, for sums, and for numbers from a file or an
 * event. Indices that come from a trace already have this type.
 *
 * @example
 * for (let op = opIndex(0); op < trace.ops.count; op++) console.log(trace.opName(op));
 */
export const opIndex = (index: number): OpIndex => index as OpIndex;
/** Returns a number as the index of a storage. */
export const storageIndex = (index: number): StorageIndex => index as StorageIndex;
/** Returns a number as the index of a tensor. */
export const tensorIndex = (index: number): TensorIndex => index as TensorIndex;
/** Returns a number as the index of a module call. */
export const callIndex = (index: number): CallIndex => index as CallIndex;
/** Returns a number as the index of a module. */
export const moduleIndex = (index: number): ModuleIndex => index as ModuleIndex;
