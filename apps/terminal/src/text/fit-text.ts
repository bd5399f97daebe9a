import stringWidth from "string-width";
import type { Glyphs } from "./glyphs.js";
import { showControls } from "./show-controls.js";

/** Latin letters and the app's own drawing characters, which are one column wide and need no lookup. */
const isNarrow = /^[\x20-\x7e\xa1-\xac\xae-\xff\u2500-\u259f\u2800-\u28ff…▲▼▸▾○◆]*$/;
const segmenter = new Intl.Segmenter();

/** Returns the width of `text`, which must not contain control characters, in terminal columns. */
export function textWidth(text: string): number {
  return isNarrow.test(text) ? text.length : stringWidth(text);
}

/** The end at which a text is cut if it is too long. */
export type Cut = "end" | "start";

/** Returns `text` made safe and exactly `width` columns wide: cut with an ellipsis, or padded with spaces. */
export function fitText(
  text: string,
  width: number,
  glyphs: Glyphs,
  { align = "left", cut = "end" }: { readonly align?: "left" | "right"; readonly cut?: Cut } = {},
): string {
  const safe = cutText(showControls(text, glyphs.isAscii), width, glyphs, cut);
  const fill = " ".repeat(Math.max(0, width - textWidth(safe)));
  return align === "left" ? safe + fill : fill + safe;
}

/** Cuts a text without control characters to at most `width` columns. */
export function cutText(text: string, width: number, glyphs: Glyphs, cut: Cut = "end"): string {
  if (width <= 0) return "";
  if (textWidth(text) <= width) return text;
  if (isNarrow.test(text))
    return cut === "end"
      ? text.slice(0, width - 1) + glyphs.ellipsis
      : glyphs.ellipsis + text.slice(text.length - width + 1);
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  if (cut === "start") characters.reverse();
  let kept: string[] = [];
  let used = 1;
  for (const character of characters) {
    used += textWidth(character);
    if (used > width) break;
    kept.push(character);
  }
  if (cut === "start") kept = [glyphs.ellipsis, ...kept.reverse()];
  else kept.push(glyphs.ellipsis);
  return kept.join("");
}
