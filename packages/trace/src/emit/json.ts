import { asEmitted, type JsonText } from "./emitted.js";
import { type CodePlace, type CodeScanner, fillCode } from "./fill-code.js";

/**
 * Characters that JSON leaves unescaped, although a terminal acts on them or hides them. They occur only inside
 * strings, where each can be escaped.
 */
const unshown = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Builds JSON. See {@link json}. */
export interface JsonBuilder {
  (strings: TemplateStringsArray, ...holes: readonly (JsonText | number | boolean)[]): JsonText;
  /**
   * Returns a value as `JSON.stringify` writes it, and also escapes characters that a terminal would act on or hide.
   */
  value(value: unknown, indent?: number): JsonText;
  /** Joins pieces with a separator. */
  join(pieces: readonly JsonText[], separator: ", " | ",\n"): JsonText;
  /** Joins lines with line ends. */
  lines(lines: readonly JsonText[]): JsonText;
}

/**
 * Builds JSON. A hole (`${…}`) takes a number, a boolean, or a result of the functions of `json`. A plain string does
 * not compile.
 *
 * @example
 * json`{ "model": ${json.value(name)} }`;
 */
export const json: JsonBuilder = /* @__PURE__ */ Object.assign(
  (strings: TemplateStringsArray, ...holes: readonly (JsonText | number | boolean)[]): JsonText =>
    asEmitted(fillCode("JSON", new JsonScanner(), strings, holes.map(String))),
  {
    value: (value: unknown, indent?: number): JsonText =>
      asEmitted((JSON.stringify(value, undefined, indent) ?? "null").replace(unshown, escapeUnits)),
    join: (pieces: readonly JsonText[], separator: ", " | ",\n"): JsonText => asEmitted(pieces.join(separator)),
    lines: (lines: readonly JsonText[]): JsonText => asEmitted(lines.join("\n")),
  },
);

const escapeUnits = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");

class JsonScanner implements CodeScanner {
  private isString = false;

  place(): CodePlace {
    return this.isString ? "string" : "code";
  }

  read(text: string): void {
    for (let i = 0; i < text.length; i++) {
      if (text[i] === '"') this.isString = !this.isString;
      else if (text[i] === "\\" && this.isString) i++;
    }
  }
}
