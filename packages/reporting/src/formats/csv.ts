import { writeCsv } from "@remat/trace/emit";
import type { OutputFormat } from "./output-format.js";

/** Writes the records of a document as CSV. See {@link writeCsv}. */
export const csvFormat: OutputFormat = {
  name: "csv",
  title: "CSV",
  isForFiles: true,
  isRecords: true,
  write(document) {
    const { columns, rows } = document.records();
    return writeCsv(columns, rows);
  },
};
