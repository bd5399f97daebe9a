import { writeCsv } from "@remat/trace/emit";
import type { OutputFormat } from "./output-format.js";

/** The records of a document as CSV, see {@link writeCsv}. */
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
