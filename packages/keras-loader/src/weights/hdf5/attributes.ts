import { readDataspace } from "./dataspace.js";
import { type Datatype, readDatatype, readNumbers } from "./datatype.js";
import type { FileBytes } from "./file-bytes.js";
import { type Message, MessageType } from "./object-header.js";

/** Value of an attribute: texts or numbers, one or a list. null for other types. */
export type AttributeValue = string | number | readonly (string | number)[] | null;

/** Reads the attributes in an object's header, by name. */
export function readAttributes(file: FileBytes, messages: readonly Message[]): ReadonlyMap<string, AttributeValue> {
  return new Map(
    messages.filter(({ type }) => type === MessageType.attribute).map((each) => readAttribute(file, each)),
  );
}

function readAttribute(file: FileBytes, { at, end }: Message): readonly [name: string, value: AttributeValue] {
  const version = file.u8(at);
  if (version < 1 || version > 3) throw new Error(`attributes of version ${version} are not supported`);
  const padded = (length: number): number => (version === 1 ? 8 * Math.ceil(length / 8) : length);
  const nameAt = at + (version === 3 ? 9 : 8);
  const name = file.text(nameAt, file.u16(at + 2));
  const typeAt = nameAt + padded(file.u16(at + 2));
  const spaceAt = typeAt + padded(file.u16(at + 4));
  const valueAt = spaceAt + padded(file.u16(at + 6));
  const type = readDatatype(file, typeAt);
  const shape = readDataspace(file, spaceAt);
  const count = shape.reduce((all, size) => all * size, 1);
  if (!(count * type.bytes <= end - valueAt)) throw new Error(`attribute ${name} is longer than its message`);
  if (type.kind === "other") return [name, null];
  const values = readValues(file, valueAt, count, type);
  return [name, shape.length === 0 ? (values[0] ?? null) : values];
}

function readValues(
  file: FileBytes,
  at: number,
  count: number,
  type: Exclude<Datatype, { readonly kind: "other" }>,
): readonly (string | number)[] {
  if (type.kind === "number") return [...readNumbers(file.slice(at, count * type.bytes), type)];
  return Array.from({ length: count }, (_, i) => {
    const from = at + i * type.bytes;
    return type.kind === "text" ? file.text(from, type.bytes) : textInHeap(file, from);
  });
}

/**
 * Returns a text of variable length, which is in a heap of the file. Source: HDF5 File Format Specification 3.0, III.E.
 */
function textInHeap(file: FileBytes, reference: number): string {
  const length = file.u32(reference);
  const heap = file.u64(reference + 4);
  const wanted = file.u32(reference + 12);
  if (length === 0) return "";
  file.expect(heap, "GCOL");
  const end = heap + file.u64(heap + 8);
  for (let at = heap + 16; at + 16 <= end; ) {
    const [index, bytes] = [file.u16(at), file.u64(at + 8)];
    if (index === 0) break;
    if (index === wanted) return file.text(at + 16, Math.min(length, bytes));
    at += 16 + 8 * Math.ceil(bytes / 8);
  }
  throw new Error(`a text is missing in the heap at ${heap}`);
}
