import type { OutputDocument } from "../formats/output-document.js";
import type { Verdict } from "./verdict.js";

/** What stands where nothing can be judged. */
export const noVerdict = "peak not known: the run does not tell when storages are freed";

/** Returns a document that begins with a verdict, and has it as data under `verdict`; its records stay. Undefined: nothing can be judged. */
export function withVerdict(document: OutputDocument, verdict: Verdict | undefined): OutputDocument {
  return {
    ...document,
    parts: () => [{ kind: "facts", facts: verdict?.facts ?? [noVerdict] }, ...document.parts()],
    value: () => ({ verdict: verdict === undefined ? null : verdictJson(verdict), ...(document.value() as object) }),
  };
}

/** The facts are the sentence. */
function verdictJson({ facts: _facts, ...verdict }: Verdict): unknown {
  return verdict;
}
