import { RematError } from "@remat/trace";

/** In-memory array of a column. */
export type ColumnArray = Uint8Array | Uint16Array | Int32Array | Float64Array;
export type ColumnType = "u8" | "u16" | "i32" | "f64";

/**
 * How to read a packed column. Its bytes are `planes` byte planes of `count` bytes each, lowest first, because bytes of
 * the same significance are similar and compress well. `raw`: the eight bytes of a double, little-endian; `int`:
 * integers as 2v for v ≥ 0, else -2v - 1; `delta`: the same for differences from the previous value.
 */
export interface PackedColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly count: number;
  readonly encoding: "raw" | "int" | "delta";
  readonly planes: number;
}

/** Packs a column as byte planes, in the encoding that needs the fewest digits. */
export function packColumn(
  name: string,
  values: ColumnArray,
): { readonly column: PackedColumn; readonly bytes: Uint8Array } {
  const type = typeOf(values);
  const count = values.length;
  if (values instanceof Float64Array && !values.every(isPackedInteger)) {
    const bytes = new Uint8Array(8 * count);
    const source = new DataView(values.buffer, values.byteOffset, values.byteLength);
    for (let i = 0; i < count; i++)
      for (let plane = 0; plane < 8; plane++) bytes[plane * count + i] = source.getUint8(8 * i + planeOffset(plane));
    return { column: { name, type, count, encoding: "raw", planes: 8 }, bytes };
  }
  const plain = planesOf(values, false);
  const delta = planesOf(values, true);
  const best = digits(delta) < digits(plain) ? delta : plain;
  const encoding = best === delta ? "delta" : "int";
  return { column: { name, type, count, encoding, planes: count === 0 ? 0 : best.length / count }, bytes: best };
}

/**
 * Reads the output of {@link packColumn}.
 *
 * @throws RematError `REPORT_DATA` for missing bytes or an invalid column description
 */
export function unpackColumn(column: PackedColumn, bytes: Uint8Array): ColumnArray {
  const { type, count, encoding, planes } = column;
  if (bytes.length !== planes * count)
    throw new RematError(
      "REPORT_DATA",
      `report: column ${JSON.stringify(column.name)} has ${bytes.length} bytes, expected ${planes * count}, so it is damaged. Create the report again.`,
    );
  const values = arrayOf(type, count);
  if (encoding === "raw") {
    const target = new Uint8Array(values.buffer);
    for (let plane = 0; plane < 8; plane++)
      for (let i = 0, at = planeOffset(plane); i < count; i++, at += 8) target[at] = bytes[plane * count + i];
    return values;
  }
  const isDelta = encoding === "delta";
  // Most columns need few planes and only 32-bit arithmetic.
  if (planes <= 3) return unpackShort(values, bytes, planes, isDelta);
  let value = 0;
  for (let i = 0; i < count; i++) {
    let code = 0;
    for (let plane = planes - 1; plane >= 0; plane--) code = code * 256 + bytes[plane * count + i];
    const signed = code % 2 === 0 ? code / 2 : -(code + 1) / 2;
    value = isDelta ? value + signed : signed;
    values[i] = value;
  }
  return values;
}

function unpackShort(values: ColumnArray, bytes: Uint8Array, planes: number, isDelta: boolean): ColumnArray {
  const count = values.length;
  const [second, third] = [planes > 1 ? count : -1, planes > 2 ? 2 * count : -1];
  let value = 0;
  if (planes === 0) return values;
  for (let i = 0; i < count; i++) {
    let code = bytes[i];
    if (second >= 0) code |= bytes[second + i] << 8;
    if (third >= 0) code |= bytes[third + i] << 16;
    const signed = (code & 1) === 0 ? code >>> 1 : -((code + 1) >>> 1);
    value = isDelta ? value + signed : signed;
    values[i] = value;
  }
  return values;
}

/** Doubles are stored lowest byte first on every machine. */
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
const planeOffset = (plane: number): number => (isLittleEndian ? plane : 7 - plane);

/**
 * Returns whether the doubled value, and the difference of two doubled values, is an exact integer. Negative zero is
 * not, because its sign would be lost.
 */
const isPackedInteger = (value: number): boolean =>
  Number.isInteger(value) && Math.abs(value) < 2 ** 50 && !Object.is(value, -0);

function planesOf(values: ColumnArray, isDelta: boolean): Uint8Array {
  const count = values.length;
  let largest = 0;
  const codes = new Float64Array(count);
  for (let i = 0, before = 0; i < count; i++) {
    const value = isDelta ? values[i] - before : values[i];
    before = values[i];
    codes[i] = value >= 0 ? 2 * value : -2 * value - 1;
    if (codes[i] > largest) largest = codes[i];
  }
  let planes = 0;
  while (largest >= 1) {
    largest /= 256;
    planes++;
  }
  const bytes = new Uint8Array(planes * count);
  for (let i = 0; i < count; i++) {
    let code = codes[i];
    for (let plane = 0; plane < planes; plane++) {
      const rest = Math.floor(code / 256);
      bytes[plane * count + i] = code - 256 * rest;
      code = rest;
    }
  }
  return bytes;
}

/** Estimates the compressed size: the number of changes between successive bytes within a plane. */
function digits(bytes: Uint8Array): number {
  let changes = 0;
  for (let i = 1; i < bytes.length; i++) if (bytes[i] !== bytes[i - 1]) changes++;
  return changes;
}

function typeOf(values: ColumnArray): ColumnType {
  if (values instanceof Uint8Array) return "u8";
  if (values instanceof Uint16Array) return "u16";
  return values instanceof Int32Array ? "i32" : "f64";
}

function arrayOf(type: ColumnType, count: number): ColumnArray {
  switch (type) {
    case "u8":
      return new Uint8Array(count);
    case "u16":
      return new Uint16Array(count);
    case "i32":
      return new Int32Array(count);
    default:
      return new Float64Array(count);
  }
}
