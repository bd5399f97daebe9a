import { isRecord } from "./check-argument.js";
import type { Trace } from "./trace.js";

/**
 * Returns whether a value is a trace. It is recognized by its fields, because it may come from another copy of this
 * package.
 */
export function isTrace(value: unknown): value is Trace {
  if (!isRecord(value) || !isRecord(value["header"])) return false;
  const isTable = (table: unknown) => isRecord(table) && Number.isInteger(table["count"]);
  return (
    ["ops", "storages", "tensors", "events"].every((table) => isTable(value[table])) &&
    ArrayBuffer.isView((value["storages"] as { readonly bytes?: unknown }).bytes)
  );
}
