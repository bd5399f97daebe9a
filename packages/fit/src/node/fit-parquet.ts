import type { FitSummary } from "../summarize-fit.js";
import { type StoredSearch, storedColumns, storedRows } from "./stored-rows.js";

/**
 * Returns the results of a search as a Parquet file, with the rows and columns that `storeFit` adds to a store.
 *
 * @example
 * writeFileSync("fit.parquet", await fitParquet(summary, { at: new Date().toISOString() }));
 */
export async function fitParquet(summary: FitSummary, search: StoredSearch): Promise<Uint8Array> {
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  const rows = storedRows(summary, search);
  const columnData = storedColumns.map((column) => {
    const [name, type] = column.split(" ") as [string, "TEXT" | "INTEGER" | "REAL"];
    const values = rows.map((row) => row[name] ?? null);
    if (type === "INTEGER")
      return {
        name,
        type: "INT64" as const,
        data: values.map((value) => (typeof value === "number" ? BigInt(value) : null)),
      };
    return { name, type: type === "TEXT" ? ("STRING" as const) : ("DOUBLE" as const), data: values };
  });
  return new Uint8Array(parquetWriteBuffer({ columnData: columnData.map((each) => ({ ...each, nullable: true })) }));
}
