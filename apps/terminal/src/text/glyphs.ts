/** The characters that the app draws with: Unicode, or ASCII only. */
export interface Glyphs {
  readonly isAscii: boolean;
  readonly ellipsis: string;
  readonly expanded: string;
  readonly collapsed: string;
  readonly leaf: string;
  readonly ascending: string;
  readonly descending: string;
  readonly horizontal: string;
  readonly vertical: string;
  readonly corner: string;
  readonly peak: string;
  readonly selected: string;
  readonly point: string;
  readonly optimum: string;
  /** Empty if scrolling is impossible, so that there is no scroll bar. */
  readonly scrollTrack: string;
  readonly scrollThumb: string;
  readonly separator: string;
  /** From empty to a full cell, left to right. */
  readonly bar: readonly string[];
  /** From empty to a full cell, bottom to top. */
  readonly column: readonly string[];
  /** Fills that distinguish bands without colour. */
  readonly fills: readonly string[];
}

export const unicodeGlyphs: Glyphs = {
  isAscii: false,
  ellipsis: "…",
  expanded: "▾",
  collapsed: "▸",
  leaf: " ",
  ascending: "▲",
  descending: "▼",
  horizontal: "─",
  vertical: "│",
  corner: "└",
  peak: "▼",
  selected: "▌",
  point: "○",
  optimum: "◆",
  scrollTrack: "│",
  scrollThumb: "┃",
  separator: "·",
  bar: [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
  column: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
  fills: ["█", "▒", "#", "░", "▓", "=", "+", ":", "%", "o", "*", "-", "x", "."],
};

export const asciiGlyphs: Glyphs = {
  isAscii: true,
  ellipsis: "~",
  expanded: "-",
  collapsed: "+",
  leaf: " ",
  ascending: "^",
  descending: "v",
  horizontal: "-",
  vertical: "|",
  corner: "`",
  peak: "V",
  selected: ">",
  point: "o",
  optimum: "X",
  scrollTrack: "|",
  scrollThumb: "#",
  separator: "-",
  bar: [" ", "#"],
  column: [" ", "#"],
  fills: ["#", "=", "+", ":", "%", "o", "*", "-", "x", ".", "@", "&", "$", "w"],
};

/** Returns whether, judging by the environment, the terminal shows Unicode. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  const term = env["TERM"] ?? "";
  if (term === "linux" || term === "dumb") return false;
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  // Containers have no locale. The terminals used with them support UTF-8.
  return locale === "" || /utf-?8/i.test(locale);
}

/** Draws a bar of `width` cells of which `share` is filled, from the left. */
export function barText(share: number, width: number, { bar }: Glyphs): string {
  const steps = bar.length - 1;
  const filled = Math.round(Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0)) * width * steps);
  const whole = Math.floor(filled / steps);
  const rest = filled % steps;
  return (bar[steps].repeat(whole) + (rest > 0 ? bar[rest] : "")).padEnd(width, " ");
}
