/**
 * Synonyms of the verbs in the glossary of ARCHITECTURE.md that must not be used: in identifiers, by their camel-case
 * parts, and in comments and texts. Upstream's own names are allowed.
 */
export const refusedWords = [
  {
    inNames: ["Rebuild", "Rebuilding", "Rebuilt", "MadeAgain", "MakeAgain", "RunAgain", "RunsAgain", "BringBack"],
    inTexts: ["made again", "makes again", "make again", "brought back", "brings back"],
    instead: "recompute (of a view: refresh)",
  },
  {
    inNames: ["Discard", "Discarded", "LetGo", "LetsGo", "GiveUp", "GivesUp", "GivenUp"],
    inTexts: ["let go of", "lets go of", "letting go of", "given up", "gives up"],
    instead: "free, or evict where tensors live on",
  },
];

export const upstreamNames = new Set(["discardedMemory"]);
