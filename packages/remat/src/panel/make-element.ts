import { displaySafeLines } from "@remat/trace/emit";

/**
 * Returns a new element with these children. Text is always inserted as text, and characters that change its direction
 * are escaped.
 */
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
