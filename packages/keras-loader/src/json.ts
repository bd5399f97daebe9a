/** A JSON object from the file, whose fields have not been checked. */
export type JsonObject = { [field: string]: unknown };

/** Returns whether a JSON value is an object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a JSON value for an error message, short enough for one line. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

/** Returns the entry of a table for a name from the file. Undefined for inherited names such as `constructor`. */
export function ownField<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
