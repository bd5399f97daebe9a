import { displaySafe } from "./display-safe.js";
import { asEmitted, type ShellCode } from "./emitted.js";
import { type CodePlace, type CodeScanner, fillCode } from "./fill-code.js";

/** What may fill a hole of a command: words, or a number. */
export type ShellHole = ShellCode | number;

/** Builds commands for a POSIX shell: {@link shell}. */
export interface ShellBuilder {
  (strings: TemplateStringsArray, ...holes: readonly ShellHole[]): ShellCode;
  /** Returns a text as one word. Characters that a terminal would obey or hide are written out; a shell gives them back. */
  word(text: string): ShellCode;
  /** Returns a path as one word that no command takes for an option. */
  path(path: string): ShellCode;
  /** Returns each text as a word, with blanks between them. */
  words(texts: readonly string[]): ShellCode;
  /** Returns a text as one word of fish, in whose quotes a backslash means something. */
  fishWord(text: string): ShellCode;
  /** Returns words as the pattern of a `case` that matches each of them. */
  pattern(texts: readonly string[]): ShellCode;
  /** Returns fragments with blanks between them. */
  join(fragments: readonly ShellCode[]): ShellCode;
  /** Returns lines of a script under each other. */
  lines(lines: readonly ShellCode[]): ShellCode;
}

/**
 * Builds commands for a POSIX shell. A hole takes a number or what the functions of `shell` return; a bare string does not compile.
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

/** A shell does nothing with these, wherever they stand in a word that does not begin with `=` or `~`. */
const plain = /^(?!=)[\w@%+=:,./-]+$/;
const unshown = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

function quoteWord(text: string): string {
  if (plain.test(text)) return text;
  if (unshown.test(text)) return quoteUnshown(text);
  // Within double quotes a shell reads these as something else.
  return text.includes("'") && !/["$`\\!]/.test(text) ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** In `$'…'` each byte can be written by its number. A word has no place for NUL and for halves of characters: they become U+FFFD. */
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

/** Reads quoted words and comments. */
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
