import { excerpt } from "./trace-field-error.js";

/** Reports an invalid field of a plan file. {@link readList} adds the position of the item in its list. @internal */
export class PlanFieldError extends Error {
  readonly field: string;
  readonly expected: string;
  readonly found: unknown;

  constructor(field: string, expected: string, found: unknown) {
    super(
      `${field}: expected ${expected}, found ${typeof found === "string" ? JSON.stringify(found) : excerpt(found)}`,
    );
    this.field = field;
    this.expected = expected;
    this.found = found;
  }
}

/**
 * Reads every item of a list. Field names in errors are relative to the item, so that full names are built only for an
 * error. @internal
 */
export function readList<Item>(field: string, value: unknown, read: (item: unknown) => Item): Item[] {
  if (!Array.isArray(value)) throw new PlanFieldError(field, "a list", value);
  const items: Item[] = [];
  try {
    for (const item of value) items.push(read(item));
  } catch (cause) {
    if (!(cause instanceof PlanFieldError)) throw cause;
    throw new PlanFieldError(`${field}[${items.length}]${cause.field}`, cause.expected, cause.found);
  }
  return items;
}

/** Reads the fields of `names` that are present. @internal */
export function readOptional<Name extends string, Value>(
  at: string,
  from: Record<string, unknown>,
  names: readonly Name[],
  read: (field: string, value: unknown) => Value,
): { [K in Name]?: Value } {
  const found: { [K in Name]?: Value } = {};
  for (const name of names) if (from[name] !== undefined) found[name] = read(`${at}.${name}`, from[name]);
  return found;
}

/** @internal */
export function readRecord(field: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new PlanFieldError(field, "an object", value);
  return value as Record<string, unknown>;
}

/** @internal */
export function readText(field: string, value: unknown): string {
  if (typeof value !== "string") throw new PlanFieldError(field, "text", value);
  return value;
}

/** @internal */
export function readNumber(field: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new PlanFieldError(field, "a number", value);
  return value;
}

/** @internal */
export function readIndex(field: string, value: unknown, count: number): number {
  const found = readNumber(field, value);
  if (!(Number.isInteger(found) && found >= 0 && found < count))
    throw new PlanFieldError(field, `an integer below ${count}`, found);
  return found;
}
