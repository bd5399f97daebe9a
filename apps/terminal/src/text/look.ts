import type { Glyphs } from "./glyphs.js";
import { type ColourDepth, createTheme, type Theme, type ThemeName } from "./theme.js";

/** Settings of appearance. */
export interface Look {
  readonly theme: ThemeName;
  readonly depth: ColourDepth;
  readonly glyphs: Glyphs;
  /** Without any escape sequences, for a pipe. */
  readonly isPlain: boolean;
}

const themes = new WeakMap<Look, Theme>();

/** Returns the theme for a look. */
export function themeOfLook(look: Look): Theme {
  const known = themes.get(look) ?? createTheme(look.theme, look.depth, look.isPlain);
  themes.set(look, known);
  return known;
}
