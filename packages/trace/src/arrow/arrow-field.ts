/** The types of Arrow columns in trace files. */
export type ArrowType =
  | { readonly kind: "int"; readonly bits: 8 | 16 | 32 | 64; readonly isSigned: boolean }
  | { readonly kind: "float64" }
  | { readonly kind: "bool" }
  | { readonly kind: "utf8" }
  | { readonly kind: "list"; readonly item: ArrowField }
  | { readonly kind: "struct"; readonly fields: readonly ArrowField[] };

/** A column or a part of one. */
export interface ArrowField {
  readonly name: string;
  readonly type: ArrowType;
  /** The type of the indices if the column is dictionary encoded. `type` is then that of the dictionary's values. */
  readonly indices?: Extract<ArrowType, { readonly kind: "int" }>;
  readonly isNullable?: boolean;
}

/** Formats the type of a column for an error message: `list of int32`. */
export function describeField({ type, indices }: Pick<ArrowField, "type" | "indices">): string {
  return indices === undefined ? describeType(type) : `${describeType(type)} by ${describeType(indices)} indices`;
}

function describeType(type: ArrowType): string {
  switch (type.kind) {
    case "int":
      return `${type.isSigned ? "" : "u"}int${type.bits}`;
    case "list":
      return `list of ${describeField(type.item)}`;
    case "struct":
      return "struct";
    default:
      return type.kind;
  }
}
