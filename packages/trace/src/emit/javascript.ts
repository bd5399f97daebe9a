import { RematError } from "../remat-error.js";
import { displaySafe } from "./display-safe.js";
import { asEmitted, type JavaScriptCode } from "./emitted.js";
import { type CodePlace, type CodeScanner, fillCode } from "./fill-code.js";
import { quoteText } from "./quote-text.js";

/** What may fill a hole of JavaScript: a fragment, or a value that is written as one. */
export type JavaScriptHole = JavaScriptCode | number | boolean;

/** Builds JavaScript source: {@link javascript}. */
export interface JavaScriptBuilder {
  (strings: TemplateStringsArray, ...holes: readonly JavaScriptHole[]): JavaScriptCode;
  /** Returns a text as a string literal of one line. It is also safe within a `<script>` of a page. */
  string(text: string): JavaScriptCode;
  /**
   * Returns a name as an identifier.
   *
   * @throws RematError `EMITTED_NAME` for a text that is not one
   */
  identifier(name: string): JavaScriptCode;
  /** Returns fragments with commas between them. */
  list(fragments: readonly JavaScriptCode[]): JavaScriptCode;
  /** Returns a comment of one line; a line end in `text` is written out. It is also safe within a `<script>` of a page. */
  comment(text: string): JavaScriptCode;
  /** Returns lines of code under each other. */
  lines(lines: readonly JavaScriptCode[]): JavaScriptCode;
}

/**
 * Builds JavaScript source. A hole takes a number, a boolean, or what the functions of `javascript` return; a bare string does not compile.
 *
 * @example
 * javascript`await import(${javascript.string(url)});`;
 */
export const javascript: JavaScriptBuilder = /* @__PURE__ */ Object.assign(
  (strings: TemplateStringsArray, ...holes: readonly JavaScriptHole[]): JavaScriptCode =>
    asEmitted(fillCode("JavaScript", new JavaScriptScanner(), strings, holes.map(String))),
  {
    string: (text: string): JavaScriptCode => asEmitted(quoteText(text).replaceAll("<", "\\u003c")),
    identifier(name: string): JavaScriptCode {
      if (!/^[A-Za-z_$][\w$]*$/.test(name) || reserved.has(name))
        throw new RematError(
          "EMITTED_NAME",
          `${displaySafe(JSON.stringify(name))} is not an identifier of JavaScript.`,
        );
      return asEmitted(name);
    },
    list(fragments: readonly JavaScriptCode[]): JavaScriptCode {
      const commas = fragments.slice(1).map(() => ", ");
      return asEmitted(fillCode("JavaScript", new JavaScriptScanner(), ["", ...commas, ""], fragments));
    },
    // A page's script ends at its end tag, and changes its meaning at the beginning of a comment, also within one of ours.
    comment: (text: string): JavaScriptCode => asEmitted(`// ${displaySafe(text).replace(/<(?=[/!s])/gi, "< ")}`),
    lines: (lines: readonly JavaScriptCode[]): JavaScriptCode => asEmitted(lines.join("\n")),
  },
);

const reserved: ReadonlySet<string> = new Set(
  "arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield".split(
    " ",
  ),
);

/** Reads strings, templates (their holes count as part of the string) and comments; knows no regular expressions. */
class JavaScriptScanner implements CodeScanner {
  private end = "";

  place(): CodePlace {
    if (this.end === "") return "code";
    return this.end === "\n" || this.end === "*/" ? "comment" : "string";
  }

  read(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const character = text[i];
      if (this.end === "") {
        if (character === '"' || character === "'" || character === "`") this.end = character;
        else if (text.startsWith("//", i)) this.end = "\n";
        else if (text.startsWith("/*", i)) {
          this.end = "*/";
          i++;
        }
      } else if (character === "\\" && this.place() === "string") i++;
      else if (text.startsWith(this.end, i)) {
        i += this.end.length - 1;
        this.end = "";
      }
    }
  }
}
