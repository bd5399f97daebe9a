import { displaySafe } from "./display-safe.js";
import { asEmitted, type TerminalText } from "./emitted.js";

/** Terminal styles: the codes that start and end each of them. */
const styles = { bold: [1, 22], good: [32, 39], bad: [31, 39], inverse: [7, 27] } as const;

/** A style of {@link terminal.styled}. */
export type TerminalStyle = keyof typeof styles;

/** Builds text for a terminal. See {@link terminal}. */
export interface TerminalBuilder {
  (strings: TemplateStringsArray, ...holes: readonly (string | number)[]): TerminalText;
  /** Returns each text on a line of its own. */
  lines(texts: readonly string[]): TerminalText;
  /** Joins texts without a separator. */
  join(texts: readonly TerminalText[]): TerminalText;
  /** Returns a text of one line in a style. */
  styled(text: string, style: TerminalStyle): TerminalText;
  /**
   * Returns a text that keeps its own lines and tabs, such as a stack trace or a formatted table. Everything else that
   * a terminal acts on is escaped.
   */
  listing(text: string): TerminalText;
}

/**
 * Builds text for a terminal. Text in a hole (`${…}`) stays on its line and is shown literally: line ends, escape
 * sequences and marks that reverse text are escaped.
 *
 * @example
 * io.stderr.write(terminal`remat: wrote ${path}\n`);
 */
export const terminal: TerminalBuilder = /* @__PURE__ */ Object.assign(
  (strings: TemplateStringsArray, ...holes: readonly (string | number)[]): TerminalText =>
    asEmitted(holes.reduce<string>((text, hole, i) => text + displaySafe(String(hole)) + strings[i + 1], strings[0])),
  {
    lines: (texts: readonly string[]): TerminalText =>
      asEmitted(texts.map((text) => `${displaySafe(text)}\n`).join("")),
    join: (texts: readonly TerminalText[]): TerminalText => asEmitted(texts.join("")),
    styled(text: string, style: TerminalStyle): TerminalText {
      const [on, off] = styles[style];
      return asEmitted(`\u001b[${on}m${displaySafe(text)}\u001b[${off}m`);
    },
    listing: (text: string): TerminalText =>
      asEmitted(text.replaceAll("\r\n", "\n").split("\n").map(keepTabs).join("\n")),
  },
);

const keepTabs = (line: string): string => line.split("\t").map(displaySafe).join("\t");
