import { type OutputDocument, type OutputFormat, outputFormats } from "@remat/reporting/formats";
import { type Facts, type Verdict, withFacts, withVerdict } from "@remat/reporting/verdict";
import { type TerminalText } from "@remat/trace/emit";
import type { ConsoleIo } from "../console-io.js";
import { shapeOf } from "../format-option.js";
import { type Painted, paintVerdict } from "./paint-verdict.js";

/** Returns only the verdict as text. */
export function verdictText(verdict: Verdict | undefined, io: ConsoleIo): TerminalText {
  const nothing: OutputDocument = { parts: () => [], records: () => ({ columns: [], rows: [] }), value: () => ({}) };
  return withVerdictFirst(nothing, verdict, outputFormats[0], io);
}

/** Returns a document as text that begins with facts, with the width and colours of the output. */
export function withFactsFirst(
  document: OutputDocument,
  facts: Facts,
  format: OutputFormat,
  io: ConsoleIo,
): TerminalText {
  return painted(format.write(withFacts(document, facts), shapeOf(io)), facts, format, io);
}

/** Returns a document as text that begins with the verdict, with the width and colours of the output. */
export function withVerdictFirst(
  document: OutputDocument,
  verdict: Verdict | undefined,
  format: OutputFormat,
  io: ConsoleIo,
): TerminalText {
  return painted(format.write(withVerdict(document, verdict), shapeOf(io)), verdict, format, io);
}

function painted(
  text: TerminalText,
  verdict: Painted | undefined,
  { isForFiles }: OutputFormat,
  { hasColors }: ConsoleIo,
): TerminalText {
  return hasColors === true && !isForFiles && verdict !== undefined ? paintVerdict(text, verdict) : text;
}
