import { type OutputDocument, type OutputFormat, type Verdict, withVerdict } from "@remat/reporting";
import type { ConsoleIo } from "../console-io.js";
import { parseFormat } from "../format-option.js";
import { paintVerdict } from "./paint-verdict.js";

/** Returns the verdict alone as text. */
export function verdictText(verdict: Verdict | undefined, io: ConsoleIo): string {
  const nothing: OutputDocument = { parts: () => [], records: () => ({ columns: [], rows: [] }), value: () => ({}) };
  return withVerdictFirst(nothing, verdict, parseFormat({ format: "table" }), io);
}

/** Returns a document as text that begins with the verdict, as wide and as colourful as what reads it. */
export function withVerdictFirst(
  document: OutputDocument,
  verdict: Verdict | undefined,
  format: OutputFormat,
  { width, hasColors }: ConsoleIo,
): string {
  const text = format.write(withVerdict(document, verdict), width === undefined ? {} : { width });
  return hasColors === true && !format.isForFiles ? paintVerdict(text, verdict) : text;
}
