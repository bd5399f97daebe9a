/** How a text reads: patterns that make readers start a sentence again, and the most that a text may have of each. */

/** @typedef {{ readonly name: string, readonly value: number, readonly most: number }} Figure */

const wordPattern = /[A-Za-z'’]+/g;

/**
 * Counts the words of a sentence, code left out.
 *
 * @param {string} sentence
 */
export const countWords = (sentence) => sentence.match(wordPattern)?.length ?? 0;

/** Patterns, and how many of each 1,000 words may have. @type {readonly (readonly [name: string, pattern: RegExp, most: number])[]} */
const rates = [
  ["what", /\bwhat\b/gi, 5],
  ["tell, told", /\b(?:tells?|told)\b/gi, 0.5],
  ["hold, held", /\b(?:holds?|held|holding)\b/gi, 2],
  ["where for if", /\bwhere (?:it|there|that|a|an|the|no|this|they|all|one|some|nothing|none)\b/gi, 1],
  // "There is no" is usual, "it is no tensor" is not.
  ["is no, is none", /(?<!\bthere )\b(?:is|are|was) (?:none|no [a-z]+)\b/gi, 0.5],
  ["stock", /\bstock(?:'s)?\b/gi, 0.5],
  ["besides, meanwhile, nobody", /\b(?:besides|meanwhile|nobody)\b/gi, 0.3],
  ["semicolons", /;/g, 2],
];

/** Sentences of fewer words are labels. */
export const fewestWords = 4;

/** Longest sentence, and most words of a sentence on average. */
const mostWords = 35;
const mostOnAverage = 22;
/** Share of sentences that may be longer than {@link mostWords}. */
const mostLong = 0.05;

/**
 * Figures of a text that are above their limit. A pattern may occur once in any text, since a rate says nothing about a short one.
 *
 * @param {readonly string[]} sentences
 * @returns {readonly Figure[]}
 */
export function figuresAbove(sentences) {
  const counts = sentences.map(countWords);
  const words = counts.reduce((sum, count) => sum + count, 0);
  const text = sentences.join("\n");
  const long = counts.filter((count) => count > mostWords).length;
  const figures = rates.map(([name, pattern, most]) => {
    const found = text.match(pattern)?.length ?? 0;
    return { name: `${name} per 1,000 words`, value: found <= 1 ? 0 : (1000 * found) / words, most };
  });
  return [
    {
      name: `share of sentences over ${mostWords} words`,
      value: long <= 1 ? 0 : long / sentences.length,
      most: mostLong,
    },
    { name: "words per sentence", value: words / Math.max(1, sentences.length), most: mostOnAverage },
    ...figures,
  ].filter(({ value, most }) => value > most);
}
