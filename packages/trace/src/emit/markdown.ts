import { displaySafe } from "./display-safe.js";
import { asEmitted, type MarkdownText } from "./emitted.js";

/**
 * Writes text as GitHub's Markdown so that it is shown literally: no character acts as markup. Control characters and
 * marks that reverse text are escaped as for a terminal.
 */
export const markdown: {
  /** Returns text for use inside a line. */
  text(text: string): MarkdownText;
  /** Returns text as a line of a paragraph. Spaces at its ends are dropped, as Markdown would do. */
  line(text: string): MarkdownText;
  /** Returns text as a table cell. Its line ends become `<br>`. */
  cell(text: string): MarkdownText;
  /** Returns text as a heading of level 1 to 6. */
  heading(level: number, text: string): MarkdownText;
  /** Returns text as inline code. */
  code(text: string): MarkdownText;
  /** Returns lines of text as a code block. */
  fence(text: string): MarkdownText;
  /** Joins blocks with an empty line between them. */
  blocks(blocks: readonly MarkdownText[]): MarkdownText;
} = {
  // A `]` at the end could be followed by the rest of a link.
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
    // Markdown drops `#` characters at the end of a heading.
    asEmitted(`${"#".repeat(level)} ${inline(text).replace(/(?<!#)#+(?= *$)/, (run) => run.replaceAll("#", "\\#"))}`),
  code: (text) => {
    const safe = displaySafe(text);
    const ticks = longestRun(safe) + 1;
    // Markdown strips one space from both ends of inline code, unless the code is only spaces.
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

/**
 * Characters that are markup wherever they appear. `<` starts HTML, `|` separates cells, `$` starts a formula on
 * GitHub.
 */
const markup = /[\\`*<|~$]/g;

function inline(text: string): string {
  return (
    displaySafe(text)
      .replace(markup, "\\$&")
      // Brackets are literal unless the next character makes them a link, an image or a definition.
      .replace(/\](?=[([:])/g, "\\]")
      .replace(/&(?=[#\w])/g, "\\&")
      // An underscore inside a word is literal.
      .replace(/_+/g, (run, at: number, all: string) =>
        isWord(all, at - 1) && isWord(all, at + run.length) ? run : run.replaceAll("_", "\\_"),
      )
      // GitHub turns these into links automatically.
      .replace(/(?<=[a-z]):(?=\/\/)/gi, "\\:")
      .replace(/(?<=www)\./gi, "\\.")
      .replace(/@/g, "\\@")
  );
}

const isWord = (text: string, at: number): boolean => /[\p{L}\p{N}]/u.test(text.charAt(at));

/** Escapes characters that would start a block at the beginning of a line. */
function atLineStart(text: string): string {
  return text.replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2").replace(/^(?:[-+=#>:])/, "\\$&");
}
