import type { Glyphs } from "./glyphs.js";
import { type ColourDepth, createTheme, type Theme, type ThemeName } from "./theme.js";

/** How things look, whatever they are. */
export interface Look {
  readonly theme: ThemeName;
  readonly depth: ColourDepth;
  readonly glyphs: Glyphs;
  /** No escape sequences at all: for a pipe. */
  readonly isPlain: boolean;
}

const themes = new WeakMap<Look, Theme>();

/** Returns what paints in a look. */
export function themeOfLook(look: Look): Theme {
  const known = themes.get(look) ?? createTheme(look.theme, look.depth, look.isPlain);
  themes.set(look, known);
  return known;
}
