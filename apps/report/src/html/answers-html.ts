import type { Answer } from "@remat/reporting/answers";
import { type Html, html } from "@remat/trace/emit";
import { breakable } from "./breakable.js";
import { flowing } from "./flowing.js";

/** Shows the first questions, each with its answer and reasons. */
export function answersHtml(answers: readonly Answer[]): Html {
  return html`<dl class="answers">${answers.map(
    ({ question, answer, reasons, isGood, command }) =>
      html`<div class="${isGood === undefined ? "" : isGood ? "good" : "bad"}"><dt>${question}</dt><dd>${answer !== "" && html`<strong>${flowing(answer)}</strong>`}${command !== undefined && html`<code>${wordsHtml(command)}</code>`}${reasons.length > 0 && html`<ul>${reasons.map((reason) => html`<li>${flowing(reason)}</li>`)}</ul>`}</dd></div>`,
  )}</dl>
`;
}

/** A command that may break between its words or the folders of a path, but not at a hyphen. */
function wordsHtml(command: string): readonly Html[] {
  return command.split(" ").map((word, i) => html`${i === 0 ? "" : " "}<span>${breakable(word, "/")}</span>`);
}
