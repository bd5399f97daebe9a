import { countWords, fewestWords, figuresAbove } from "./figures.js";

/**
 * Sentences of the comments of a source file: doc comments up to their first `@example`, and runs of line comments. Code in backquotes is left out.
 *
 * @param {string} source TypeScript, JavaScript or Python
 * @returns {readonly string[]}
 */
export function commentSentences(source) {
  const blocks = [...source.matchAll(/\/\*\*?(.*?)\*\//gs)].map(
    ([, block]) => block.replace(/^\s*\* ?/gm, "").split(/^\s*@(?:example|internal|type|typedef|param)/m)[0],
  );
  const runs = (source.match(/(?:^[ \t]*\/\/ .*\n)+/gm) ?? []).map((run) => run.replace(/^[ \t]*\/\/ ?/gm, ""));
  const docstrings = [...source.matchAll(/"""(.*?)"""/gs)].map(([, text]) => text);
  return [...blocks, ...runs, ...docstrings].flatMap(sentencesOf);
}

/** @param {string} text @returns {readonly string[]} */
const sentencesOf = (text) =>
  text
    .replace(/\{@link ([^}]*)\}/g, "$1")
    .replace(/``?[^`]*``?/g, " CODE ")
    .split(/\n\s*\n|\n(?=\s*[-*@] ?)/)
    .flatMap((paragraph) =>
      paragraph
        .replace(/\s+/g, " ")
        .trim()
        .split(/(?<=[.!?:])\s+(?=[A-Z"`*[])/),
    )
    .filter((sentence) => countWords(sentence) >= fewestWords);

/**
 * How the comments of some files read, taken together: figures above their limit.
 *
 * @param {readonly string[]} sources
 */
export const commentFigures = (sources) => figuresAbove(sources.flatMap(commentSentences));
