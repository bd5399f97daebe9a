import { displaySafeLines } from "@remat/trace/emit";

type Child = Node | string | number | undefined | false | readonly Child[];
type Listener = (event: never) => void;
/**
 * Attributes. Functions under `on…` are event listeners, `true` is an empty attribute, `false` and undefined are
 * omitted.
 */
type Attributes = Readonly<Record<string, string | number | boolean | undefined | Listener>>;

/** Attributes with visible text. In other attributes, names serve as keys and must not be escaped. */
const shown: ReadonlySet<string> = new Set(["title", "aria-label", "aria-valuetext", "alt", "placeholder"]);

/**
 * Creates an element with attributes and children. Strings become text nodes, with bidirectional control characters
 * escaped.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Does the same for SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Returns a required element of the document. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element #${id}`);
  return element;
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else
      element.setAttribute(
        name,
        value === true ? "" : shown.has(name) ? displaySafeLines(String(value)) : String(value),
      );
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(typeof child === "object" ? (child as Node) : displaySafeLines(String(child)));
  }
}
