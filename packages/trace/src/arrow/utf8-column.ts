import type { ArrowColumn } from "./arrow-column.js";
import { ArrowError } from "./arrow-error.js";
import type { ColumnData } from "./ipc-content.js";

/**
 * Begins a text that is stored as JSON, because UTF-8 cannot represent it: one with half of a surrogate pair. Texts
 * that begin with this character are stored in the same way.
 */
const escape = "\0";

/** Encodes texts as UTF-8. Undefined is a null. */
export function encodeTexts(texts: readonly (string | undefined)[]): ColumnData {
  const encoder = new TextEncoder();
  const offsets = new Int32Array(texts.length + 1);
  let bytes = new Uint8Array(1 << 12);
  let end = 0;
  for (let i = 0; i < texts.length; i++) {
    const text = escaped(texts[i] ?? "");
    // A character of a string takes at most three bytes.
    if (end + 3 * text.length > bytes.length) {
      const grown = new Uint8Array(2 * bytes.length + 3 * text.length);
      grown.set(bytes);
      bytes = grown;
    }
    end += encoder.encodeInto(text, bytes.subarray(end)).written;
    offsets[i + 1] = end;
  }
  const isNull = (i: number): boolean => texts[i] === undefined;
  return {
    length: texts.length,
    ...validityOf(texts.length, isNull, [offsets, bytes.subarray(0, end)]),
    children: [],
  };
}

/** Decodes a column of texts. Undefined is a null. */
export function decodeTexts(column: ArrowColumn): (string | undefined)[] {
  const offsets = column.offsets();
  const bytes = column.bytes(2, offsets[column.length]);
  const all = decodeUtf8(bytes);
  const validity = column.validity();
  const texts: (string | undefined)[] = [];
  for (let i = 0; i < column.length; i++) {
    const [start, end] = [offsets[i], offsets[i + 1]];
    if (validity !== undefined && !isValid(validity, i)) texts.push(undefined);
    // Among ASCII characters, a position in the text is a position in the bytes.
    else if (all.length === bytes.length) texts.push(unescaped(all.slice(start, end)));
    else texts.push(unescaped(decodeUtf8(bytes.subarray(start, end))));
  }
  return texts;
}

/** Returns the null count of a column, and its validity bits before its other buffers. */
export function validityOf(
  length: number,
  isNull: (row: number) => boolean,
  buffers: readonly ArrayBufferView[],
): Pick<ColumnData, "nullCount" | "buffers"> {
  let nullCount = 0;
  const validity = new Uint8Array(Math.ceil(length / 8));
  for (let row = 0; row < length; row++) {
    if (isNull(row)) nullCount++;
    else validity[row >> 3] |= 1 << (row & 7);
  }
  return { nullCount, buffers: [nullCount === 0 ? new Uint8Array(0) : validity, ...buffers] };
}

/** Returns a bit of a bitmap. */
export function isValid(bits: Uint8Array, row: number): boolean {
  return (bits[row >> 3] & (1 << (row & 7))) !== 0;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new ArrowError("it has text that is not UTF-8", { cause });
  }
}

function escaped(text: string): string {
  return text.startsWith(escape) || /\p{Surrogate}/u.test(text) ? `${escape}${JSON.stringify(text)}` : text;
}

function unescaped(text: string): string {
  if (!text.startsWith(escape)) return text;
  let value: unknown;
  try {
    value = JSON.parse(text.slice(escape.length));
  } catch {
    // Reported below.
  }
  if (typeof value !== "string") throw new ArrowError("it has a text whose escape is damaged");
  return value;
}
