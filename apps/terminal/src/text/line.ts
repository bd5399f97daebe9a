import { fitText, textWidth } from "./fit-text.js";
import type { Glyphs } from "./glyphs.js";
import { showControls } from "./show-controls.js";
import { type Style, type Theme, type ThemeStyle, themeStyles } from "./theme.js";

/** Text in one style. */
export interface Span {
  readonly text: string;
  readonly style?: ThemeStyle | Style | undefined;
}

/** One row of the screen. */
export type Line = readonly Span[];

/** Returns the width of a line in columns. */
export function lineWidth(line: Line): number {
  return line.reduce((width, { text }) => width + textWidth(text), 0);
}

/** Returns a line cut or padded to exactly `width` columns. */
export function fitLine(line: Line, width: number, glyphs: Glyphs, fill?: Span["style"]): Line {
  const fitted: Span[] = [];
  let left = width;
  for (const { text, style } of line) {
    if (left <= 0) break;
    const safe = showControls(text, glyphs.isAscii);
    const wide = textWidth(safe);
    fitted.push({ text: wide <= left ? safe : fitText(safe, left, glyphs), style });
    left -= Math.min(left, wide);
  }
  if (left > 0) fitted.push({ text: " ".repeat(left), style: fill });
  return fitted;
}

/**
 * Returns a line as text with the escape sequences of its styles. Control characters in a text are escaped here at the
 * latest.
 */
export function paintLine(line: Line, theme: Theme, glyphs: Glyphs): string {
  let painted = "";
  for (const { text, style } of line) {
    const safe = showControls(text, glyphs.isAscii);
    painted += style === undefined ? safe : theme.paint(safe, typeof style === "string" ? themeStyles[style] : style);
  }
  return painted;
}
