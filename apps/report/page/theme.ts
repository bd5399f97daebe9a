import type { Colour } from "@remat/reporting";
import type { Store } from "./state.js";

/** Returns the visible theme, whether chosen or the system's. */
function currentTheme(): "light" | "dark" {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

const listeners = new Set<() => void>();

/** Calls `redraw` whenever colours change: by choice, by the system, for printing. */
export function onThemeChange(redraw: () => void): void {
  listeners.add(redraw);
}

/** Applies the theme of the state to the document. Printing always uses the light theme. */
export function followTheme(store: Store): void {
  const apply = (theme: string): void => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    for (const redraw of listeners) redraw();
  };
  store.follow(({ theme }, changed) => {
    if (changed.has("theme")) apply(theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(store.state.theme));
  addEventListener("beforeprint", () => apply("light"));
  addEventListener("afterprint", () => apply(store.state.theme));
}

/** Returns a colour for the visible theme. */
export function shade(colour: Colour): string {
  return colour[currentTheme()];
}

/**
 * Returns a custom property of the style sheet, for drawing. A colour with a value for each theme is returned for the
 * visible one.
 */
export function token(name: string): string {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const start = "light-dark(";
  const comma = value.lastIndexOf(", ");
  if (!value.startsWith(start) || !value.endsWith(")") || comma < start.length) return value;
  return shade({ light: value.slice(start.length, comma), dark: value.slice(comma + ", ".length, -1) });
}
