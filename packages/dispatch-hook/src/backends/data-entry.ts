import { bytesPerElement, elementsOf } from "@remat/trace";

/** What backends keep per `DataId` in their `DataStorage`. */
export interface DataEntry {
  /** Says it outright; the fake backend's entries may. */
  readonly bytes?: number | undefined;
  readonly shape?: readonly number[] | undefined;
  /** tfjs's name or, on native, TensorFlow's number. */
  readonly dtype: string | number;
  values?: ArrayLike<unknown> | null | undefined;
  readonly stringBytes?: ArrayLike<unknown> | null | undefined;
  /** A complex tensor that is only a pair of others. */
  readonly complexTensorInfos?: { readonly real: { dataId: object }; readonly imag: { dataId: object } } | undefined;
  /** How many tensors and other data refer to it. */
  refCount?: number;
}

/** Returns the bytes of a buffer as requested: elements times bytes per element; for strings the bytes of their text, where JavaScript holds them. */
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

/** Tells whether an entry is the pair of a complex tensor, which has no buffer of its own; its parts have. */
export const isComplexPair = (entry: DataEntry): boolean =>
  entry.complexTensorInfos !== undefined ||
  (entry.dtype === "complex64" && entry.bytes === undefined && entry.values == null);
