import type { OutputDocument } from "../formats/output-document.js";
import { type Facts, paragraphOf } from "./fact-lines.js";
import type { Verdict } from "./verdict.js";

/** Returns a verdict's facts, or the fact that the run cannot be judged. */
export function factsOf(verdict: Facts | undefined): Facts {
  if (verdict === undefined) return { facts: ["Peak memory is unknown: frees are not recorded."] };
  const { facts, command } = verdict;
  return { facts, command };
}

/**
 * Returns the document with facts added at its beginning. Its JSON value has them under `verdict`. Its records are
 * unchanged.
 */
export function withFacts(document: OutputDocument, facts: Facts): OutputDocument {
  const { command } = facts;
  return {
    ...document,
    parts: () => [{ kind: "facts", ...facts }, ...document.parts()],
    value: () => ({
      verdict: { sentence: paragraphOf(facts), ...(command !== undefined && { command }) },
      ...(document.value() as object),
    }),
  };
}

/**
 * Returns the document with a verdict added at its beginning. Its JSON value has it under `verdict`. Its records are
 * unchanged. Undefined means that the run cannot be judged.
 */
export function withVerdict(document: OutputDocument, verdict: Verdict | undefined): OutputDocument {
  return {
    ...document,
    parts: withFacts(document, factsOf(verdict)).parts,
    value: () => ({ verdict: verdict === undefined ? null : verdictJson(verdict), ...(document.value() as object) }),
  };
}

/** Returns a verdict as plain data, without the facts, because the sentence already contains them. */
function verdictJson({
  facts: _facts,
  headline: _headline,
  isDefaultDevice: _isDefault,
  ...verdict
}: Verdict): unknown {
  return verdict;
}
