import { RematError } from "../remat-error.js";
import { displaySafe } from "./display-safe.js";
import { asEmitted, type JavaScriptCode } from "./emitted.js";
import { type CodePlace, type CodeScanner, fillCode } from "./fill-code.js";
import { quoteText } from "./quote-text.js";

/**
 * A value for a hole (`${…}`) in a JavaScript template: a fragment of code, or a number or boolean written as a
 * literal.
 */
export type JavaScriptHole = JavaScriptCode | number | boolean;

/** Builds JavaScript source. See {@link javascript}. */
export interface JavaScriptBuilder {
  (strings: TemplateStringsArray, ...holes: readonly JavaScriptHole[]): JavaScriptCode;
  /** Returns a text as a string literal on one line. It is also safe inside a `<script>` of a page. */
  string(text: string): JavaScriptCode;
  /**
   * Returns a name as an identifier.
   *
   * @throws RematError `EMITTED_NAME` if the text is not an identifier
   */
  identifier(name: string): JavaScriptCode;
  /** Returns fragments with commas between them. */
  list(fragments: readonly JavaScriptCode[]): JavaScriptCode;
  /** Returns a comment on one line. Line ends in `text` are escaped. It is also safe inside a `<script>` of a page. */
  comment(text: string): JavaScriptCode;
  /** Joins lines of code with line ends. */
  lines(lines: readonly JavaScriptCode[]): JavaScriptCode;
}

/**
 * Builds JavaScript source. A hole (`${…}`) takes a number, a boolean, or a result of the functions of `javascript`. A
 * plain string does not compile.
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
          `${displaySafe(JSON.stringify(name))} is not a JavaScript identifier. Rename it.`,
        );
      return asEmitted(name);
    },
    list(fragments: readonly JavaScriptCode[]): JavaScriptCode {
      const commas = fragments.slice(1).map(() => ", ");
      return asEmitted(fillCode("JavaScript", new JavaScriptScanner(), ["", ...commas, ""], fragments));
    },
    // In a page, the end tag or the start of an HTML comment would end or change the script, even inside a JavaScript
    // comment.
    comment: (text: string): JavaScriptCode => asEmitted(`// ${displaySafe(text).replace(/<(?=[/!s])/gi, "< ")}`),
    lines: (lines: readonly JavaScriptCode[]): JavaScriptCode => asEmitted(lines.join("\n")),
  },
);

const reserved: ReadonlySet<string> = new Set(
  "arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield".split(
    " ",
  ),
);

/**
 * Scans strings, templates and comments. Holes of templates count as part of the string. Regular expressions are not
 * recognized.
 */
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
