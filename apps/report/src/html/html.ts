/** Text that is HTML already. */
export interface Html {
  readonly html: string;
}

type Part = Html | string | number | undefined | false | readonly Part[];

/**
 * Fills a template whose values are shown as text, whatever they hold; only what is `Html` already goes in as it is. Lone surrogates, which UTF-8
 * cannot hold, become U+FFFD.
 *
 * @example
 * html`<td title="${name}">${name}</td>`;
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let out = strings[0];
  parts.forEach((part, i) => {
    out += rendered(part) + strings[i + 1];
  });
  return { html: out };
}

function rendered(part: Part): string {
  if (part === undefined || part === false) return "";
  if (Array.isArray(part)) return part.map(rendered).join("");
  if (typeof part === "object") return (part as Html).html;
  return escapeHtml(String(part));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Returns `text` as HTML that shows it, within elements and quoted attributes. Control characters, which would not show, become U+FFFD. */
export function escapeHtml(text: string): string {
  return text
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "\ufffd")
    .replace(/[&<>"']/g, (character) => entities[character]);
}
