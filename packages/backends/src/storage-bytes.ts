import { bytesPerElement } from "@remat/trace";

/** What backends keep per `DataId` in their `DataStorage`. */
export interface DataEntry {
  /** Says it outright; the fake backend's entries may. */
  readonly bytes?: number | undefined;
  readonly shape?: readonly number[] | undefined;
  /** tfjs's name or, on native, TensorFlow's number. */
  readonly dtype: string | number;
  readonly values?: ArrayLike<unknown> | null | undefined;
  readonly stringBytes?: ArrayLike<unknown> | null | undefined;
  /** On cpu a complex tensor is only a pair of others. */
  readonly complexTensorInfos?: { readonly real: { dataId: object }; readonly imag: { dataId: object } } | undefined;
}

/** `tensorflow/core/framework/types.proto`, as far as tfjs-node uses it. */
const tensorflowTypes: Readonly<Record<number, string>> = {
  1: "float32",
  3: "int32",
  4: "uint8",
  7: "string",
  8: "complex64",
  9: "int64",
  10: "bool",
};

/** Returns bytes of a buffer as requested: elements times bytes per element; for strings the bytes of their text, where JavaScript holds them. */
export function entryBytes(entry: DataEntry): number {
  if (entry.bytes !== undefined) return entry.bytes;
  const dtype = typeof entry.dtype === "number" ? tensorflowTypes[entry.dtype] : entry.dtype;
  if (dtype === "string") return textBytes(entry.values ?? entry.stringBytes);
  const elements = entry.shape === undefined ? (entry.values?.length ?? 0) : entry.shape.reduce((n, d) => n * d, 1);
  return elements * (bytesPerElement(dtype ?? "") ?? 0);
}

function textBytes(texts: ArrayLike<unknown> | null | undefined): number {
  let bytes = 0;
  for (let i = 0; i < (texts?.length ?? 0); i++) bytes += (texts?.[i] as { length?: number } | undefined)?.length ?? 0;
  return bytes;
}

/** The pair of a complex tensor has no buffer of its own; its parts have. */
export const isComplexPair = (entry: DataEntry): boolean =>
  entry.complexTensorInfos !== undefined ||
  (entry.dtype === "complex64" && entry.bytes === undefined && entry.shape === undefined && entry.values == null);
