import { displaySafe } from "./display-safe.js";
import { asEmitted, type MarkdownText } from "./emitted.js";

/**
 * Functions that write text as GitHub's Markdown, which shows it: no character of it is markup. Control characters and marks that turn text around are written out, as
 * in a terminal.
 */
export const markdown: {
  /** Returns a text within a line. */
  text(text: string): MarkdownText;
  /** Returns a text as a line of a paragraph; Markdown does not keep blanks at its ends. */
  line(text: string): MarkdownText;
  /** Returns a text as a cell of a table; its own line ends become `<br>`. */
  cell(text: string): MarkdownText;
  /** Returns a text as a heading of a level from 1 to 6. */
  heading(level: number, text: string): MarkdownText;
  /** Returns a text as code within a line. */
  code(text: string): MarkdownText;
  /** Returns lines of text as a block of code. */
  fence(text: string): MarkdownText;
  /** Returns blocks with a line between them. */
  blocks(blocks: readonly MarkdownText[]): MarkdownText;
} = {
  // What stands behind it may be the rest of a link.
  text: (text) => asEmitted(inline(text).replace(/\]$/, "\\]")),
  line: (text) => asEmitted(atLineStart(inline(text).replace(/^ +| +$/g, ""))),
  cell: (text) =>
    asEmitted(
      text
        .split(/\r\n|\r|\n/)
        .map(inline)
        .join("<br>"),
    ),
  heading: (level, text) =>
    // At its end, Markdown takes a mark of a heading away.
    asEmitted(`${"#".repeat(level)} ${inline(text).replace(/(?<!#)#+(?= *$)/, (run) => run.replaceAll("#", "\\#"))}`),
  code: (text) => {
    const safe = displaySafe(text);
    const ticks = longestRun(safe) + 1;
    // A blank at both ends is taken away again, unless there is nothing else.
    const padded = /^[ `]|[ `]$/.test(safe) && safe.trim() !== "" ? ` ${safe} ` : safe;
    return asEmitted(`${"`".repeat(ticks)}${padded === "" ? " " : padded}${"`".repeat(ticks)}`);
  },
  fence: (text) => {
    const lines = text.trimEnd().split(/\r\n|\r|\n/);
    const safe = lines.map((line) => line.split("\t").map(displaySafe).join("\t")).join("\n");
    const ticks = "`".repeat(Math.max(3, longestRun(safe) + 1));
    return asEmitted(`${ticks}\n${safe}\n${ticks}`);
  },
  blocks: (blocks) => asEmitted(blocks.join("\n\n")),
};

function longestRun(text: string): number {
  return Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
}

/** What is markup wherever it stands. `<` begins HTML, `|` parts cells, `$` begins a formula on GitHub. */
const markup = /[\\`*<|~$]/g;

function inline(text: string): string {
  return (
    displaySafe(text)
      .replace(markup, "\\$&")
      // Brackets are themselves unless what follows makes a link, a picture or a definition of them.
      .replace(/\](?=[([:])/g, "\\]")
      .replace(/&(?=[#\w])/g, "\\&")
      // Within a word an underscore is itself.
      .replace(/_+/g, (run, at: number, all: string) =>
        isWord(all, at - 1) && isWord(all, at + run.length) ? run : run.replaceAll("_", "\\_"),
      )
      // What GitHub makes links of without being asked.
      .replace(/(?<=[a-z]):(?=\/\/)/gi, "\\:")
      .replace(/(?<=www)\./gi, "\\.")
      .replace(/@/g, "\\@")
  );
}

const isWord = (text: string, at: number): boolean => /[\p{L}\p{N}]/u.test(text.charAt(at));

/** What begins a block at the start of a line. */
function atLineStart(text: string): string {
  return text.replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2").replace(/^(?:[-+=#>:])/, "\\$&");
}
