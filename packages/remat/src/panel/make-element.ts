import { displaySafeLines } from "@remat/trace/emit";

/** Returns an element of that name, with these children. Text is text, whatever is in it, and marks that turn it around are written out. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.map((child) => (typeof child === "string" ? displaySafeLines(child) : child)));
  return element;
}
