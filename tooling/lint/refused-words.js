/**
 * Other words for the acts that the glossary of ARCHITECTURE.md names: in identifiers, by their parts in camel case, and in comments and texts. What
 * is upstream's own name stays.
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
