import { RematError } from "../remat-error.js";
import { displaySafe } from "./display-safe.js";
import { asEmitted, type PythonCode } from "./emitted.js";
import { type CodePlace, type CodeScanner, fillCode } from "./fill-code.js";
import { quoteText } from "./quote-text.js";

/**
 * A value for a hole (`${…}`) in a Python template: a fragment of code, or a number or boolean written as a literal.
 */
export type PythonHole = PythonCode | number | boolean;

/** Builds Python source. See {@link python}. */
export interface PythonBuilder {
  (strings: TemplateStringsArray, ...holes: readonly PythonHole[]): PythonCode;
  /** Returns a text as a string literal on one line. Characters that would not be visible are escaped. */
  string(text: string): PythonCode;
  /**
   * Returns a name as an identifier.
   *
   * @throws RematError `EMITTED_NAME` if the text is not an identifier
   */
  identifier(name: string): PythonCode;
  /** Returns a comment on one line. Line ends in `text` are escaped. */
  comment(text: string): PythonCode;
  /** Returns fragments with commas between them. */
  list(fragments: readonly PythonCode[]): PythonCode;
  /** Joins lines of code with line ends, indented by `indent` spaces. An empty line stays empty. */
  lines(lines: readonly PythonCode[], indent?: number): PythonCode;
}

/**
 * Builds Python source. A hole (`${…}`) takes a number, a boolean, or a result of the functions of `python`. A plain
 * string does not compile.
 *
 * @example
 * python`model.get_submodule(${python.string(name)})`;
 */
export const python: PythonBuilder = /* @__PURE__ */ Object.assign(
  (strings: TemplateStringsArray, ...holes: readonly PythonHole[]): PythonCode =>
    asEmitted(fillCode("Python", new PythonScanner(), strings, holes.map(valueOf))),
  {
    string: (text: string): PythonCode =>
      asEmitted(quoteText(text, (code) => `\\U${code.toString(16).padStart(8, "0")}`)),
    identifier(name: string): PythonCode {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || keywords.has(name))
        throw new RematError(
          "EMITTED_NAME",
          `${displaySafe(JSON.stringify(name))} is not a Python identifier. Rename it.`,
        );
      return asEmitted(name);
    },
    comment: (text: string): PythonCode => asEmitted(`# ${displaySafe(text)}`),
    list(fragments: readonly PythonCode[]): PythonCode {
      const commas = fragments.slice(1).map(() => ", ");
      return asEmitted(fillCode("Python", new PythonScanner(), ["", ...commas, ""], fragments));
    },
    lines: (lines: readonly PythonCode[], indent = 0): PythonCode =>
      asEmitted(
        lines
          .flatMap((line) => line.split("\n"))
          .map((line) => (line === "" ? "" : " ".repeat(indent) + line))
          .join("\n"),
      ),
  },
);

function valueOf(hole: PythonHole): string {
  if (typeof hole === "boolean") return hole ? "True" : "False";
  if (typeof hole !== "number") return hole;
  return Number.isFinite(hole) ? String(hole) : `float("${String(hole).replace("Infinity", "inf")}")`;
}

const keywords: ReadonlySet<string> = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

/** Scans strings and comments. The fields of an f-string count as part of the string. */
class PythonScanner implements CodeScanner {
  private quote = "";
  private isComment = false;

  place(): CodePlace {
    return this.quote !== "" ? "string" : this.isComment ? "comment" : "code";
  }

  read(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const character = text[i];
      if (this.isComment) this.isComment = character !== "\n";
      else if (this.quote !== "") {
        if (character === "\\") i++;
        else if (text.startsWith(this.quote, i)) {
          i += this.quote.length - 1;
          this.quote = "";
        } else if (character === "\n" && this.quote.length === 1)
          throw new TypeError("a Python string continues after the end of its line");
      } else if (character === "#") this.isComment = true;
      else if (character === '"' || character === "'") {
        const triple = character.repeat(3);
        this.quote = text.startsWith(triple, i) ? triple : character;
        i += this.quote.length - 1;
      }
    }
  }
}
