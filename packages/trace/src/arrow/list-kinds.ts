import type { IndexColumn } from "../index-types.js";
import type { Rows } from "../trace.js";
import { ArrowError } from "./arrow-error.js";
import { type ColumnKind, RowError } from "./column-kind.js";
import { isValid, validityOf } from "./utf8-column.js";

/** Lists of values. */
export function rows<T extends Int32Array | Float64Array>(item: ColumnKind<T>): ColumnKind<Rows<T>> {
  return {
    field: { type: { kind: "list", item: { name: "item", ...item.field } } },
    encode({ start, values }, run) {
      const children = [item.encode(values, run)];
      return { length: start.length - 1, nullCount: 0, buffers: [new Uint8Array(0), start], children };
    },
    decode(column, run) {
      const start = column.offsets();
      const [child] = column.children;
      if (start[column.length] !== child.length)
        throw new ArrowError(`its lists end at ${start[column.length]} of ${child.length}`);
      try {
        return { start, values: item.decode(child, run) };
      } catch (error) {
        if (!(error instanceof RowError)) throw error;
        throw new RowError(rowOf(start, error.row), error.message);
      }
    },
  };
}

/** Lists of values, or undefined. */
export function optionalRows<I extends number>(
  item: ColumnKind<IndexColumn<I>>,
): ColumnKind<readonly (readonly I[] | undefined)[]> {
  const lists = rows(item);
  return {
    field: { ...lists.field, isNullable: true },
    encode(values, run) {
      const start = new Int32Array(values.length + 1);
      values.forEach((list, row) => (start[row + 1] = start[row] + (list?.length ?? 0)));
      const flat = Int32Array.from(values.flatMap((list) => list ?? [])) as IndexColumn<I>;
      const { buffers, ...column } = lists.encode({ start, values: flat }, run);
      return { ...column, ...validityOf(values.length, (row) => values[row] === undefined, buffers.slice(1)) };
    },
    decode(column, run) {
      const { start, values } = lists.decode(column, run);
      const validity = column.validity();
      return Array.from({ length: column.length }, (_, row) =>
        validity === undefined || isValid(validity, row)
          ? Array.from(values.subarray(start[row], start[row + 1]))
          : undefined,
      );
    },
  };
}

/** Returns the list that has the value at `position`. */
function rowOf(start: Int32Array, position: number): number {
  let row = 0;
  while (start[row + 1] <= position) row++;
  return row;
}
