/**
 * Words for things that have a usual name, and that name. The linter looks for them in pages, comments and messages, in any case. Names that users type and upstream's names are in code, which
 * the linter does not read.
 *
 * @type {readonly (readonly [word: string, instead: string])[]}
 */
export const usualWords = [
  ["to the bit", "bitwise identical"],
  ["to the last bit", "bitwise identical"],
  ["the same bits", "bitwise identical results"],
  ["as it is used", "inference"],
  ["lets go of", "frees"],
  ["let go of", "free"],
  ["letting go of", "freeing"],
  ["gives back", "frees"],
  ["given up", "evicted"],
  ["recomputed for nothing", "recomputed"],
  ["at no cost", "with no slowdown"],
  ["by other hands", "third-party"],
  ["checkpointed by hand", "manual activation checkpointing"],
  ["made again", "recomputed"],
  ["makes again", "recomputes"],
  ["make again", "recompute"],
  ["brought back", "recomputed"],
  ["brings back", "recomputes"],
  ["held at the peak", "live at the peak"],
  ["of it waiting", "exposed communication"],
  ["anew", "again"],
  ["whoever", "users, or the person's role"],
  ["nobody knows", "unknown"],
  ["stranger", "third party"],
  ["strangers", "third parties"],
];

/** Words of a glossary that identifiers of sources use for other things than it says, and the words to use. */
export const namesToReplace = [
  {
    inNames: ["Rebuild", "Rebuilding", "Rebuilt", "MadeAgain", "MakeAgain", "RunAgain", "RunsAgain", "BringBack"],
    instead: "recompute (of a view: refresh)",
  },
  {
    inNames: ["Discard", "Discarded", "LetGo", "LetsGo", "GiveUp", "GivesUp", "GivenUp"],
    instead: "free, or evict where tensors live on",
  },
];

export const upstreamNames = new Set(["discardedMemory"]);

/** How a sentence must not start: the noun is missing, or comes too late. A question may start with "What", and "By default" is an adverb. */
export const badOpening = /^(?:Of (?!course\b)|(?:What|Those|Whether|Whoever)\b(?!.*\?$)|By (?!default\b)(?!\w+ing\b))/;
