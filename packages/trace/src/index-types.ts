/** Gives indices of different things distinct types. Exists only at compile time. */
declare const indexOf: unique symbol;

/**
 * The index of an op in a trace, in execution order. Any index can be used as a number, and a plain number as any index:
 * `for (let op = 0; op < trace.ops.count; op++)`. The index of one thing cannot be used as the index of another.
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
 * Returns a number as the index of an op. Within this package, it is for the start of a loop, for sums, and for numbers
 * from a file or an event, so that the type shows of what they are indices.
 *
 * @internal
 */
export const opIndex = (index: number): OpIndex => index as OpIndex;
/** Returns a number as the index of a storage. @internal */
export const storageIndex = (index: number): StorageIndex => index as StorageIndex;
/** Returns a number as the index of a tensor. @internal */
export const tensorIndex = (index: number): TensorIndex => index as TensorIndex;
/** Returns a number as the index of a module call. @internal */
export const callIndex = (index: number): CallIndex => index as CallIndex;
/** Returns a number as the index of a module. @internal */
export const moduleIndex = (index: number): ModuleIndex => index as ModuleIndex;
