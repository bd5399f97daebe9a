import { displaySafeLines } from "./display-safe.js";

let make: (html: string) => Html;

/** HTML that was built by {@link html}: names in it are text. */
export class Html {
  readonly html: string;

  private constructor(html: string) {
    this.html = html;
  }

  static {
    // Nobody makes one but this file.
    make = (text) => new Html(text);
  }
}

/** What may fill a hole: text, a number, HTML where elements may stand, several of them, or nothing. */
export type HtmlHole = Html | string | number | undefined | false | readonly HtmlHole[];

/** Builds HTML: {@link html}. */
export interface HtmlBuilder {
  (strings: TemplateStringsArray, ...holes: readonly HtmlHole[]): Html;
  /**
   * Returns a style sheet or a script of ours as an element; no name may be part of it.
   *
   * @throws TypeError if the text ends the element
   */
  element(tag: "style" | "script", text: string): Html;
}

/**
 * Builds HTML or SVG. Texts are shown as text, whatever they hold; only what is `Html` already goes in as it is. A hole may stand between tags, or within a quoted
 * value of an attribute. A hole that is a whole address (`href`, `src`) may only lead to this page, to a file beside it, or to the web. Control characters, marks that
 * turn text around and characters that a page hides are written out, as in a terminal.
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

/** Where a hole stands: between tags, within a quoted value, or at the beginning of one that is an address. */
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
  // An address is not shown, and leads elsewhere if it is written otherwise.
  if (place === "address") return escapeHtml(isHarmless(text) ? text : "about:blank");
  return escapeHtml(displaySafeLines(text));
}

/** An address that leads to a page, a mail or a place in this page, and runs nothing. */
function isHarmless(address: string): boolean {
  const scheme = /^[^/?#]*?:/.exec(address.replace(/[\0-\x20]/g, ""))?.[0];
  return scheme === undefined || /^(?:https?|mailto):$/i.test(scheme);
}

const addresses: ReadonlySet<string> = new Set(
  "href xlink:href src action formaction data poster cite ping background".split(" "),
);
const known: WeakMap<TemplateStringsArray, readonly Place[]> = new WeakMap();

/** Reads the parts of a template that are ours; each is read once. */
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
          if (raw === null) throw new TypeError(`a hole stands within a ${tag}`);
          at += raw[0].length;
          [tag, state] = ["", "tag"];
        } else if (rest.startsWith("<!--")) throw new TypeError("a hole stands within a comment of HTML");
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
          // Names of attributes without a value, and the blanks between them.
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
    if (state === "text" && /<\/?$/.test(text)) throw new TypeError(`a hole stands within a tag: ${text.slice(-40)}`);
    if (state === "tag") throw new TypeError(`a hole stands within a tag, not in quotes: ${text.slice(-40)}`);
    if (state === "value" && (attribute.startsWith("on") || attribute === "srcdoc" || attribute === "style"))
      throw new TypeError(`a hole stands within ${attribute}=`);
    if (state === "text" && (tag === "script" || tag === "style")) throw new TypeError(`a hole stands within a ${tag}`);
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

/** Text as HTML and XML both read it. XML has no place for control characters, not even escaped. */
function escapeHtml(text: string): string {
  return text
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/g, "\ufffd")
    .replace(/\r\n?/g, "\n")
    .replace(/[&<>"']/g, (character) => entities[character]);
}
