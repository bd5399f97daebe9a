import type { OutputDocument } from "../formats/output-document.js";
import { type Facts, verdictSeparator } from "./fact-lines.js";
import type { Verdict } from "./verdict.js";

/** Returns what a verdict says, or that nothing can be judged. */
export function factsOf(verdict: Facts | undefined): Facts {
  if (verdict === undefined) return { facts: ["peak not known: the run does not tell what is freed when"] };
  const { facts, command } = verdict;
  return { facts, command };
}

/** Returns a document that begins with facts, and has them as data under `verdict`; its records stay. */
export function withFacts(document: OutputDocument, facts: Facts): OutputDocument {
  const { command } = facts;
  return {
    ...document,
    parts: () => [{ kind: "facts", ...facts }, ...document.parts()],
    value: () => ({
      verdict: { sentence: facts.facts.join(verdictSeparator), ...(command !== undefined && { command }) },
      ...(document.value() as object),
    }),
  };
}

/** Returns a document that begins with a verdict, and has it as data under `verdict`; its records stay. Undefined: nothing can be judged. */
export function withVerdict(document: OutputDocument, verdict: Verdict | undefined): OutputDocument {
  return {
    ...document,
    parts: withFacts(document, factsOf(verdict)).parts,
    value: () => ({ verdict: verdict === undefined ? null : verdictJson(verdict), ...(document.value() as object) }),
  };
}

/** The facts are the sentence. */
function verdictJson({ facts: _facts, ...verdict }: Verdict): unknown {
  return verdict;
}
