/** Makes indices of different things different types. Exists only in types. */
declare const indexOf: unique symbol;

/** An op of a trace, by its place in execution order. Like all indices it can be used as a number, but the index of anything else cannot be used as it. */
export type OpIndex = number & { readonly [indexOf]?: "op" };
/** A storage of a trace, by its place in order of allocation. */
export type StorageIndex = number & { readonly [indexOf]?: "storage" };
/** A tensor of a trace. */
export type TensorIndex = number & { readonly [indexOf]?: "tensor" };
/** A call of a module, by its place in the order in which calls began. */
export type CallIndex = number & { readonly [indexOf]?: "call" };
/** A module of a trace. */
export type ModuleIndex = number & { readonly [indexOf]?: "module" };

/** A column whose values are of type `I`: an `Int32Array` at run time. */
export interface IndexColumn<I extends number> extends Int32Array {
  [index: number]: I;
  [Symbol.iterator](): ArrayIterator<I>;
  subarray(begin?: number, end?: number): IndexColumn<I>;
  at(index: number): I | undefined;
  values(): ArrayIterator<I>;
}

/** Returns a column of `length` zeros, or of `fill`; -1 means none. */
export function newIndexColumn<I extends number>(length: number, fill = 0): IndexColumn<I> {
  const column = new Int32Array(length) as IndexColumn<I>;
  return fill === 0 ? column : (column.fill(fill) as IndexColumn<I>);
}

/**
 * Returns a number as the index of an op: for where a loop begins, for sums, for what a file or an event says. Indices that come from a trace are typed already.
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
