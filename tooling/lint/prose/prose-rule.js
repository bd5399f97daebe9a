import { SentenceSplitterSyntax, splitAST } from "sentence-splitter";
import { StringSource } from "textlint-util-to-string";
import { countWords, fewestWords, figuresAbove } from "./figures.js";
import { badOpening } from "./words.js";

/**
 * A rule of textlint: no sentence of a page starts without its noun, no number is apart from its %, and the page as a whole reads well.
 *
 * @type {import("@textlint/types").TextlintRuleModule}
 */
export const proseRule = ({ Syntax, RuleError, report, locator }) => {
  /** @type {string[]} */
  const sentences = [];
  return {
    [Syntax.Paragraph](node) {
      for (const part of splitAST(node).children) {
        if (part.type !== SentenceSplitterSyntax.Sentence) continue;
        const source = new StringSource(part, {
          replacer: ({ node: inner, maskValue }) => (inner.type === Syntax.Code ? maskValue("_") : undefined),
        });
        const text = source.toString().replace(/\s+/g, " ").trim();
        const padding = { padding: locator.range([0, 1]) };
        if (/\d %/.test(text)) report(part, new RuleError(`Write 70%, not 70 %: "${text.slice(0, 80)}"`, padding));
        if (countWords(text) < fewestWords) continue;
        sentences.push(text);
        if (badOpening.test(text))
          report(part, new RuleError(`Start with the subject: "${text.slice(0, 80)}"`, padding));
      }
    },
    [Syntax.DocumentExit](node) {
      for (const { name, value, most } of figuresAbove(sentences))
        report(
          node,
          new RuleError(`${name}: ${value.toFixed(2)}, at most ${most}`, { padding: locator.range([0, 1]) }),
        );
    },
  };
};
