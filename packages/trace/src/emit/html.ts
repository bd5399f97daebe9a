import { displaySafeLines } from "./display-safe.js";

let make: (html: string) => Html;

/** HTML built by {@link html}. Names in it are escaped as text. */
export class Html {
  readonly html: string;

  private constructor(html: string) {
    this.html = html;
  }

  static {
    // Only this file can create instances.
    make = (text) => new Html(text);
  }
}

/**
 * A value for a hole (`${…}`) in the template: text, a number, HTML if elements may appear there, a list of these, or
 * nothing.
 */
export type HtmlHole = Html | string | number | undefined | false | readonly HtmlHole[];

/** Builds HTML. See {@link html}. */
export interface HtmlBuilder {
  (strings: TemplateStringsArray, ...holes: readonly HtmlHole[]): Html;
  /**
   * Returns a style sheet or a script of remat's own as an element. It must not contain names from the input.
   *
   * @throws TypeError if the text would end the element
   */
  element(tag: "style" | "script", text: string): Html;
}

/**
 * Builds HTML or SVG. Strings are escaped and shown as text. Only `Html` values are inserted as markup. A hole
 * (`${…}`) may appear between tags, or inside a quoted attribute value. If a hole is a whole address (`href`, `src`),
 * the address may lead only to this page, to a file next to it, or to the web. Control characters, marks that reverse
 * text, and invisible characters are escaped as for a terminal.
 *
 * @throws TypeError for a template with a hole anywhere else
 * @example
 * html`<td title="${name}">${name}</td>`;
 */
export const html: HtmlBuilder = /* @__PURE__ */ Object.assign(
  (strings: TemplateStringsArray, ...holes: readonly HtmlHole[]): Html => {
    const places = placesOf(strings);
    return make(holes.reduce<string>((out, hole, i) => out + rendered(hole, places[i]) + strings[i + 1], strings[0]));
  },
  {
    element(tag: "style" | "script", text: string): Html {
      if (/<[/!]/.test(text)) throw new TypeError(`a ${tag} would end early`);
      return make(`<${tag}>${text}</${tag}>`);
    },
  },
);

/** The position of a hole: between tags, inside a quoted value, or at the beginning of a value that is an address. */
type Place = "text" | "value" | "address";

function rendered(hole: HtmlHole, place: Place): string {
  if (hole === undefined || hole === false) return "";
  if (hole instanceof Html) {
    if (place !== "text") throw new TypeError("HTML stands within the value of an attribute");
    return hole.html;
  }
  if (Array.isArray(hole)) return hole.map((part: HtmlHole) => rendered(part, place)).join("");
  if (typeof hole === "object") throw new TypeError("an object that html`…` did not make stands in HTML");
  const text = String(hole);
  // An address is not displayed, and escaping its characters would change where it leads.
  if (place === "address") return escapeHtml(isHarmless(text) ? text : "about:blank");
  return escapeHtml(displaySafeLines(text));
}

/** Returns whether an address leads to a page, a mail address or a place in this page, and does not run code. */
function isHarmless(address: string): boolean {
  const scheme = /^[^/?#]*?:/.exec(address.replace(/[\0-\x20]/g, ""))?.[0];
  return scheme === undefined || /^(?:https?|mailto):$/i.test(scheme);
}

const addresses: ReadonlySet<string> = new Set(
  "href xlink:href src action formaction data poster cite ping background".split(" "),
);
const known: WeakMap<TemplateStringsArray, readonly Place[]> = new WeakMap();

/** Finds the positions of the holes in a template's fixed parts. Each template is parsed once. */
function placesOf(strings: TemplateStringsArray): readonly Place[] {
  const found = known.get(strings);
  if (found !== undefined) return found;
  const places: Place[] = [];
  let state: "text" | "tag" | "value" = "text";
  let attribute = "";
  let quote = "";
  let tag = "";
  strings.forEach((text, part) => {
    let at = 0;
    while (at < text.length) {
      const rest = text.slice(at);
      if (state === "text") {
        const comment = /^<!--[\s\S]*?-->/.exec(rest);
        const raw = tag === "script" || tag === "style" ? new RegExp(`^[\\s\\S]*?</${tag}`).exec(rest) : null;
        const opened = /^<(\/?[a-zA-Z!][\w:-]*)/.exec(rest);
        if (comment !== null) at += comment[0].length;
        else if (tag === "script" || tag === "style") {
          if (raw === null) throw new TypeError(`a substitution stands within a ${tag}`);
          at += raw[0].length;
          [tag, state] = ["", "tag"];
        } else if (rest.startsWith("<!--")) throw new TypeError("a substitution stands within a comment of HTML");
        else if (opened !== null) {
          at += opened[0].length;
          [tag, state] = [opened[1].toLowerCase(), "tag"];
        } else at++;
      } else if (state === "tag") {
        const value = /^([^\s"'<>/=]+)=(["'])/.exec(rest);
        if (value !== null) {
          at += value[0].length;
          attribute = value[1].toLowerCase();
          [quote, state] = [value[2], "value"];
        } else {
          if (rest.startsWith(">")) state = "text";
          // Skip names of attributes without a value, and the spaces between them.
          at += /^[^\s"'<>/=]+/.exec(rest)?.[0].length ?? 1;
        }
      } else {
        const end = rest.indexOf(quote);
        if (end < 0) at = text.length;
        else {
          at += end + 1;
          state = "tag";
        }
      }
    }
    if (part === strings.length - 1) return;
    if (state === "text" && /<\/?$/.test(text))
      throw new TypeError(`a substitution stands within a tag: ${text.slice(-40)}`);
    if (state === "tag") throw new TypeError(`a substitution stands within a tag, not in quotes: ${text.slice(-40)}`);
    if (state === "value" && (attribute.startsWith("on") || attribute === "srcdoc" || attribute === "style"))
      throw new TypeError(`a substitution stands within ${attribute}=`);
    if (state === "text" && (tag === "script" || tag === "style"))
      throw new TypeError(`a substitution stands within a ${tag}`);
    const isAddress = state === "value" && addresses.has(attribute) && text.endsWith(`=${quote}`);
    places.push(state === "text" ? "text" : isAddress ? "address" : "value");
  });
  if (state !== "text") throw new TypeError(`a template of HTML ends within a tag: ${strings.at(-1)}`);
  known.set(strings, places);
  return places;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text so that HTML and XML read it alike. XML does not allow control characters, not even escaped. */
function escapeHtml(text: string): string {
  return text
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/g, "\ufffd")
    .replace(/\r\n?/g, "\n")
    .replace(/[&<>"']/g, (character) => entities[character]);
}
