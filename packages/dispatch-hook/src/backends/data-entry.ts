import { bytesPerElement, elementsOf } from "@remat/trace";

/** The data that backends keep for each `DataId` in their `DataStorage`. */
export interface DataEntry {
  /** Size in bytes, if the entry contains it, as on the fake backend. */
  readonly bytes?: number | undefined;
  /** Shape of the tensor, if the entry contains it. */
  readonly shape?: readonly number[] | undefined;
  /** TensorFlow.js name of the dtype or, on native, TensorFlow's number. */
  readonly dtype: string | number;
  /** Values in JavaScript. */
  values?: ArrayLike<unknown> | null | undefined;
  /** Encoded strings of a string tensor. */
  readonly stringBytes?: ArrayLike<unknown> | null | undefined;
  /** The parts of a complex tensor that is only a pair of tensors. */
  readonly complexTensorInfos?: { readonly real: { dataId: object }; readonly imag: { dataId: object } } | undefined;
  /** Number of tensors and other data that refer to it. */
  refCount?: number;
}

/**
 * Returns the requested bytes of a buffer: elements times bytes per element, or for strings the bytes of their text if
 * JavaScript has them.
 */
export function requestedBytes(entry: DataEntry, dtype: string = String(entry.dtype)): number {
  if (entry.bytes !== undefined) return entry.bytes;
  if (dtype === "string") return textBytes(entry.values ?? entry.stringBytes);
  const elements = entry.shape === undefined ? (entry.values?.length ?? 0) : elementsOf(entry.shape);
  return elements * (bytesPerElement(dtype) ?? 0);
}

function textBytes(texts: ArrayLike<unknown> | null | undefined): number {
  let bytes = 0;
  for (let i = 0; i < (texts?.length ?? 0); i++) bytes += (texts?.[i] as { length?: number } | undefined)?.length ?? 0;
  return bytes;
}

/** Returns whether an entry is the pair of a complex tensor. The pair has no buffer, but its parts have. */
export const isComplexPair = (entry: DataEntry): boolean =>
  entry.complexTensorInfos !== undefined ||
  (entry.dtype === "complex64" && entry.bytes === undefined && entry.values == null);
