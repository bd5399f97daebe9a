import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import terminology from "textlint-rule-terminology";
import { proseRule } from "./prose-rule.js";
import { usualWords } from "./words.js";

const kernel = new TextlintKernel();

/**
 * How a page of Markdown breaks the rules of prose: one line for each place, with the line of the page.
 *
 * @param {string} text
 * @returns {Promise<readonly string[]>}
 */
export async function checkPage(text) {
  const { messages } = await kernel.lintText(text, {
    ext: ".md",
    plugins: [{ pluginId: "markdown", plugin: markdown.default ?? markdown }],
    rules: [
      { ruleId: "prose", rule: proseRule },
      {
        ruleId: "terminology",
        rule: terminology.default ?? terminology,
        options: { defaultTerms: false, terms: usualWords },
      },
    ],
  });
  return messages.map(({ line, message }) => `${line}: ${message}`);
}
