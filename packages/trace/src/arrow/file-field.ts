import { ArrowError } from "./arrow-error.js";
import type { ArrowField, ArrowType } from "./arrow-field.js";
import type { FlatTable } from "./flat-table.js";
import { doublePrecision, Slot, TypeId } from "./ipc-format.js";

/** A field of a file's schema. */
export interface FileField extends ArrowField {
  readonly children: readonly FileField[];
  /** How many buffers the column itself has, beside those of its children. */
  readonly buffers: number;
  /** The dictionary of a dictionary-encoded column. */
  readonly dictionary: number | undefined;
}

/** Far more fields, and far deeper, than a trace has. A small file could describe millions. */
const mostFields = 1000;
const mostLevels = 10;

/**
 * Reads the fields of a schema.
 *
 * @throws ArrowError for types that a trace does not have; RangeError for damaged metadata
 */
export function readFields(schema: FlatTable): readonly FileField[] {
  let count = 0;
  const fieldsOf = (table: FlatTable, slot: number, level: number): FileField[] => {
    const fields: FileField[] = [];
    for (const each of table.tables(slot)) {
      if (++count > mostFields || level > mostLevels) throw new ArrowError("its schema has too many fields");
      fields.push(readField(each, fieldsOf(each, Slot.field.children, level + 1)));
    }
    return fields;
  };
  return fieldsOf(schema, Slot.schema.fields, 1);
}

function readField(table: FlatTable, children: readonly FileField[]): FileField {
  const name = table.text(Slot.field.name) ?? "";
  const dictionary = table.table(Slot.field.dictionary);
  const type = readType(name, table, children);
  const indices = dictionary && readInt(dictionary.table(Slot.dictionary.indices));
  return {
    name,
    type,
    children: indices === undefined ? children : [],
    isNullable: table.byte(Slot.field.nullable) === 1,
    dictionary: dictionary?.int64(Slot.dictionary.id),
    buffers: indices === undefined ? buffersOf(type) : 2,
    ...(indices !== undefined && { indices }),
  };
}

function readType(name: string, table: FlatTable, children: readonly FileField[]): ArrowType {
  const typeId = table.byte(Slot.field.typeId);
  const type = table.table(Slot.field.type);
  switch (typeId) {
    case TypeId.int:
      return readInt(type);
    case TypeId.floatingPoint:
      if (type?.int16(Slot.floatingPoint.precision) === doublePrecision) return { kind: "float64" };
      break;
    case TypeId.utf8:
      return { kind: "utf8" };
    case TypeId.bool:
      return { kind: "bool" };
    case TypeId.list:
      if (children.length === 1) return { kind: "list", item: children[0] };
      break;
    case TypeId.struct:
      return { kind: "struct", fields: children };
  }
  throw new ArrowError(`its column '${name}' has a type that traces do not have (type ${typeId} of Arrow's schemas)`);
}

function readInt(type: FlatTable | undefined): Extract<ArrowType, { readonly kind: "int" }> {
  const bits = type?.int32(Slot.int.bits);
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64)
    throw new ArrowError(`its schema has an integer of ${bits ?? 0} bits`);
  return { kind: "int", bits, isSigned: type?.byte(Slot.int.isSigned) === 1 };
}

function buffersOf({ kind }: ArrowType): number {
  return kind === "struct" ? 1 : kind === "utf8" ? 3 : 2;
}
