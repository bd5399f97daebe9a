import type { FileBytes } from "./file-bytes.js";

/** The type of the elements of an array or an attribute. */
export type Datatype =
  | {
      readonly kind: "number";
      readonly of: "int" | "uint" | "float";
      readonly bytes: number;
      readonly isLittle: boolean;
    }
  | { readonly kind: "text"; readonly bytes: number }
  /** Texts of variable length. Each is a reference to a heap. */
  | { readonly kind: "texts"; readonly bytes: 16 }
  | { readonly kind: "other"; readonly bytes: number; readonly named: string };

const names = [
  "int",
  "float",
  "time",
  "text",
  "bits",
  "opaque",
  "compound",
  "reference",
  "enumeration",
  "list",
  "array",
];

/** Reads a type. Source: HDF5 File Format Specification 3.0, IV.A.2.d. */
export function readDatatype(file: FileBytes, at: number): Datatype {
  const kind = file.u8(at) & 0x0f;
  const bits = file.u8(at + 1);
  const bytes = file.u32(at + 4);
  const other = { kind: "other", bytes, named: names[kind] ?? `kind ${kind}` } as const;
  switch (kind) {
    case 0:
      return [1, 2, 4, 8].includes(bytes)
        ? { kind: "number", of: (bits & 8) === 0 ? "uint" : "int", bytes, isLittle: (bits & 1) === 0 }
        : other;
    case 1:
      return [2, 4, 8].includes(bytes) ? { kind: "number", of: "float", bytes, isLittle: (bits & 1) === 0 } : other;
    case 3:
      return { kind: "text", bytes };
    case 8: {
      // h5py writes booleans as an enumeration of whole numbers.
      const base = file.u8(at + 8) & 0x0f;
      return base === 0 ? readDatatype(file, at + 8) : other;
    }
    case 9:
      return (bits & 0x0f) === 1 ? { kind: "texts", bytes: 16 } : other;
    default:
      return other;
  }
}

/** Reads the numbers in `bytes`. */
export function readNumbers(
  bytes: Uint8Array,
  { of, bytes: width, isLittle }: Extract<Datatype, { readonly kind: "number" }>,
): Float64Array | Float32Array {
  const count = bytes.length / width;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (of === "float" && width === 4) {
    const values = new Float32Array(count);
    for (let i = 0; i < count; i++) values[i] = view.getFloat32(4 * i, isLittle);
    return values;
  }
  const read = (at: number): number => {
    if (of === "float") return width === 8 ? view.getFloat64(at, isLittle) : halfOf(view.getUint16(at, isLittle));
    const isSigned = of === "int";
    if (width === 1) return isSigned ? view.getInt8(at) : view.getUint8(at);
    if (width === 2) return isSigned ? view.getInt16(at, isLittle) : view.getUint16(at, isLittle);
    if (width === 4) return isSigned ? view.getInt32(at, isLittle) : view.getUint32(at, isLittle);
    return Number(isSigned ? view.getBigInt64(at, isLittle) : view.getBigUint64(at, isLittle));
  };
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = read(width * i);
  return values;
}

function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? 2 ** -14 * (fraction / 1024) : 2 ** (exponent - 15) * (1 + fraction / 1024));
}
