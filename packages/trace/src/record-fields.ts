import { excerpt, TraceFieldError } from "./trace-field-error.js";

/** A record of a trace file, parsed from JSON. @internal */
export type TraceRecord = Readonly<Record<string, unknown>>;

/** Reads a number. @internal */
export function number(r: TraceRecord, field: string): number {
  const value = r[field];
  if (typeof value !== "number") throw new TraceFieldError(field, `expected a number, found ${excerpt(value)}`);
  return value;
}

/** @internal */
export function numberOr(r: TraceRecord, field: string, missing: number): number {
  return r[field] === undefined ? missing : number(r, field);
}

/** @internal */
export function text(r: TraceRecord, field: string): string {
  const value = r[field];
  if (typeof value !== "string") throw new TraceFieldError(field, `expected a string, found ${excerpt(value)}`);
  return value;
}

/** @internal */
export function bool(r: TraceRecord, field: string): boolean {
  const value = r[field];
  if (typeof value !== "boolean") throw new TraceFieldError(field, `expected true or false, found ${excerpt(value)}`);
  return value;
}

/** @internal */
export function list(r: TraceRecord, field: string): readonly unknown[] {
  const value = r[field];
  if (!Array.isArray(value)) throw new TraceFieldError(field, `expected a list, found ${excerpt(value)}`);
  return value;
}

/** @internal */
export function integers(r: TraceRecord, field: string): readonly number[] {
  const values = list(r, field);
  for (let i = 0; i < values.length; i++)
    if (!Number.isInteger(values[i]))
      throw new TraceFieldError(field, `expected integers, found ${excerpt(values[i])} at ${i}`);
  return values as readonly number[];
}

/** Reads a number as an index. `TraceBuilder` checks that the item exists. @internal */
export function index<I extends number>(r: TraceRecord, field: string): I {
  return number(r, field) as I;
}

/** Reads a list of indices like {@link index}. @internal */
export function indices<I extends number>(r: TraceRecord, field: string): readonly I[] {
  return integers(r, field) as readonly I[];
}

/** Reads a name in `table` and returns its number. @internal */
export function oneOf(r: TraceRecord, field: string, table: Readonly<Record<string, number>>): number {
  const value = r[field];
  if (typeof value !== "string" || !Object.hasOwn(table, value))
    throw new TraceFieldError(field, `expected one of ${Object.keys(table).join(", ")}, found ${excerpt(value)}`);
  return table[value];
}

/** Checks that `value` is the index that the next item of its kind gets. @internal */
export function expectNext(field: string, value: unknown, expected: number): void {
  if (value !== expected)
    throw new TraceFieldError(field, `expected ${expected}, the next of its kind, found ${excerpt(value)}`);
}
