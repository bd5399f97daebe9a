/** A JSON object as it stands in the file: nothing about its fields is known yet. */
export type JsonObject = { [field: string]: unknown };

/** Tells whether a JSON value is an object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a JSON value for an error message, short enough for one line. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

/** Returns what a table has under a name of the file's; undefined for what every object has (`constructor`). */
export function ownField<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
