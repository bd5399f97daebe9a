import { displaySafe } from "./display-safe.js";
import { asEmitted, type ShellCode } from "./emitted.js";
import { type CodePlace, type CodeScanner, fillCode } from "./fill-code.js";

/** A value for a hole (`${…}`) in a command: words, or a number. */
export type ShellHole = ShellCode | number;

/** Builds commands for a POSIX shell. See {@link shell}. */
export interface ShellBuilder {
  (strings: TemplateStringsArray, ...holes: readonly ShellHole[]): ShellCode;
  /**
   * Returns a text as one word. Characters that a terminal would act on or hide are escaped so that a shell restores
   * them.
   */
  word(text: string): ShellCode;
  /** Returns a path as one word that commands do not take for an option. */
  path(path: string): ShellCode;
  /** Returns each text as a word, separated by spaces. */
  words(texts: readonly string[]): ShellCode;
  /** Returns a text as one word for fish, where a backslash inside single quotes is an escape. */
  fishWord(text: string): ShellCode;
  /** Returns a pattern for `case` that matches each of the texts. */
  pattern(texts: readonly string[]): ShellCode;
  /** Joins fragments with spaces. */
  join(fragments: readonly ShellCode[]): ShellCode;
  /** Joins lines of a script with line ends. */
  lines(lines: readonly ShellCode[]): ShellCode;
}

/**
 * Builds commands for a POSIX shell. A hole (`${…}`) takes a number or a result of the functions of `shell`. A plain
 * string does not compile.
 *
 * @example
 * shell`remat plan ${shell.path(file)} --budget ${shell.word(budget)}`;
 */
export const shell: ShellBuilder = /* @__PURE__ */ Object.assign(
  (strings: TemplateStringsArray, ...holes: readonly ShellHole[]): ShellCode =>
    asEmitted(fillCode("shell", new ShellScanner(), strings, holes.map(String))),
  {
    word: (text: string): ShellCode => asEmitted(quoteWord(text)),
    path: (path: string): ShellCode => asEmitted(quoteWord(path.startsWith("-") && path !== "-" ? `./${path}` : path)),
    words: (texts: readonly string[]): ShellCode => asEmitted(texts.map(quoteWord).join(" ")),
    fishWord: (text: string): ShellCode =>
      asEmitted(`'${displaySafe(text).replaceAll("\\", "\\\\").replaceAll("'", `'\\''`)}'`),
    pattern: (texts: readonly string[]): ShellCode => asEmitted(texts.map(quoteWord).join("|")),
    join: (fragments: readonly ShellCode[]): ShellCode => asEmitted(fragments.join(" ")),
    lines: (lines: readonly ShellCode[]): ShellCode => asEmitted(lines.join("\n")),
  },
);

/** Words that need no quotes: a shell does not interpret these characters unless the word begins with `=` or `~`. */
const plain = /^(?!=)[\w@%+=:,./-]+$/;
const unshown = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

function quoteWord(text: string): string {
  if (plain.test(text)) return text;
  if (unshown.test(text)) return quoteUnshown(text);
  // A shell interprets these characters inside double quotes.
  return text.includes("'") && !/["$`\\!]/.test(text) ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Quotes a word with `$'…'`, where each byte can be written as a number. A word cannot contain NUL or lone surrogates:
 * they become U+FFFD.
 */
function quoteUnshown(text: string): string {
  let word = "";
  for (const character of text) {
    if (character === "'" || character === "\\") word += `\\${character}`;
    else if (!unshown.test(character)) word += character;
    else
      for (const byte of new TextEncoder().encode(character === "\0" ? "\ufffd" : character))
        word += `\\x${byte.toString(16).padStart(2, "0")}`;
  }
  return `$'${word}'`;
}

/** Scans quoted words and comments. */
class ShellScanner implements CodeScanner {
  private quote = "";
  private isComment = false;
  private before = "\n";

  place(): CodePlace {
    return this.quote !== "" ? "string" : this.isComment ? "comment" : "code";
  }

  read(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const character = text[i];
      const before = this.before;
      this.before = character;
      if (this.isComment) this.isComment = character !== "\n";
      else if (this.quote !== "") {
        if (character === "\\" && this.quote !== "'") i++;
        else if (character === this.quote[0]) this.quote = "";
      } else if (character === "\\") i++;
      else if (character === "'" || character === '"')
        this.quote = before === "$" && character === "'" ? "'$" : character;
      else if (character === "#" && /\s/.test(before)) this.isComment = true;
    }
  }
}
