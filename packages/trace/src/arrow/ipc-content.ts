import type { ArrowField } from "./arrow-field.js";

/** A column to write: its buffers in the order of the format, and its children. */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  /** The first buffer has the validity bits. It is empty if there are no nulls. */
  readonly buffers: readonly ArrayBufferView[];
  readonly children: readonly ColumnData[];
}

/** A field to write. `dictionary` is the number of its dictionary. */
export interface WrittenField extends ArrowField {
  readonly dictionary?: number;
}

/** The content of a file. */
export interface IpcContent {
  readonly metadata: Readonly<Record<string, string>>;
  readonly fields: readonly WrittenField[];
  /** The values of each dictionary, by its number. */
  readonly dictionaries: readonly ColumnData[];
  readonly batches: readonly (readonly ColumnData[])[];
}

/** The place of a message in a file. */
export interface Block {
  readonly offset: number;
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

/** The buffers of a record batch: their places in its body, and the body as chunks. */
export interface Body {
  readonly places: readonly { readonly offset: number; readonly length: number }[];
  readonly chunks: readonly Uint8Array[];
  readonly bytes: number;
}
