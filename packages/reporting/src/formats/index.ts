export type {
  DocumentPart,
  DocumentRecords,
  FactsPart,
  ListingPart,
  OutputDocument,
  TablePart,
  TextPart,
} from "./output-document.js";
export type { OutputFormat, OutputShape } from "./output-format.js";
export { outputFormats } from "./output-formats.js";
export { writeDocument } from "./write-document.js";
