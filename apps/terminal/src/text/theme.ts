import type { Colour } from "@remat/reporting";

/** Appearance of a text. Colours are given for both backgrounds. */
export interface Style {
  readonly colour?: Colour;
  readonly background?: Colour;
  readonly isBold?: boolean;
  readonly isDim?: boolean;
  readonly isInverse?: boolean;
  readonly isUnderlined?: boolean;
}

/** The background that the colours are for. */
export type ThemeName = "dark" | "light";
/** Number of colours that a terminal supports. */
export type ColourDepth = "none" | "16" | "256" | "truecolor";

const accent: Colour = { light: "#0b5cad", dark: "#6cb6ff" };
const good: Colour = { light: "#1a7f37", dark: "#57c785" };
const warning: Colour = { light: "#9a6700", dark: "#e3b341" };
const bad: Colour = { light: "#b3261e", dark: "#ff7b72" };
const faint: Colour = { light: "#6a6a6a", dark: "#8b949e" };

/** The name of a style. */
export type ThemeStyle =
  | "title"
  | "tab"
  | "activeTab"
  | "header"
  | "sorted"
  | "selected"
  | "faint"
  | "strong"
  | "accent"
  | "good"
  | "warning"
  | "bad"
  | "match"
  | "bar"
  | "key"
  | "notice";

/** Styles by purpose. */
export const themeStyles: Readonly<Record<ThemeStyle, Style>> = {
  title: { isBold: true, colour: accent },
  tab: { colour: faint },
  activeTab: { isBold: true, isInverse: true },
  header: { isBold: true, colour: faint },
  sorted: { isBold: true, colour: accent },
  selected: { isInverse: true },
  faint: { colour: faint },
  strong: { isBold: true },
  accent: { colour: accent },
  good: { colour: good },
  warning: { colour: warning },
  bad: { colour: bad },
  match: { colour: warning, isUnderlined: true },
  bar: { colour: accent },
  key: { isBold: true, colour: accent },
  notice: { isBold: true, colour: warning },
};

/** Paints text with escape sequences. */
export interface Theme {
  readonly name: ThemeName;
  readonly depth: ColourDepth;
  paint(text: string, style: Style): string;
}

/** Creates a theme. With `isPlain` (text for a pipe) not even bold is written. */
export function createTheme(name: ThemeName, depth: ColourDepth, isPlain = false): Theme {
  const known = new Map<Style, string>();
  const codesOf = (style: Style): string => {
    const codes: (string | number)[] = [];
    if (style.isBold) codes.push(1);
    if (style.isDim) codes.push(2);
    if (style.isUnderlined) codes.push(4);
    if (style.isInverse) codes.push(7);
    if (style.colour) codes.push(...colourCodes(style.colour[name], depth, 38));
    if (style.background) codes.push(...colourCodes(style.background[name], depth, 48));
    return codes.join(";");
  };
  return {
    name,
    depth,
    paint(text, style) {
      if (isPlain || text === "") return text;
      let codes = known.get(style);
      if (codes === undefined) known.set(style, (codes = codesOf(style)));
      return codes === "" ? text : `\u001b[${codes}m${text}\u001b[0m`;
    },
  };
}

/** Determines the number of colours that the terminal supports from its environment: https://no-color.org. */
export function colourDepth(env: Readonly<Record<string, string | undefined>>): ColourDepth {
  if ((env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb") return "none";
  if (/truecolor|24bit/i.test(env["COLORTERM"] ?? "")) return "truecolor";
  if (/256|kitty|alacritty|ghostty|direct/.test(env["TERM"] ?? "")) return "256";
  return "16";
}

/**
 * Determines whether the terminal's background is light from the environment (`COLORFGBG`, set by rxvt, Konsole and
 * others).
 */
export function themeOf(env: Readonly<Record<string, string | undefined>>): ThemeName {
  const background = Number((env["COLORFGBG"] ?? "").split(";").at(-1) || Number.NaN);
  return background === 7 || (background >= 9 && background <= 15) ? "light" : "dark";
}

function colourCodes(hex: string, depth: ColourDepth, base: 38 | 48): readonly (string | number)[] {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  switch (depth) {
    case "none":
      return [];
    case "truecolor":
      return [base, 2, red, green, blue];
    case "256":
      return [base, 5, cubeColour(red, green, blue)];
    case "16":
      return [nearestBasic(red, green, blue) + (base - 38)];
  }
}

/** The nearest colour in xterm's 6 × 6 × 6 cube or its grey ramp. */
function cubeColour(red: number, green: number, blue: number): number {
  const levels = [0, 95, 135, 175, 215, 255];
  const nearest = (value: number): number =>
    levels.reduce((best, level, i) => (Math.abs(level - value) < Math.abs(levels[best] - value) ? i : best), 0);
  const [r, g, b] = [nearest(red), nearest(green), nearest(blue)];
  const grey = Math.min(23, Math.max(0, Math.round(((red + green + blue) / 3 - 8) / 10)));
  const off = (x: number, y: number, z: number): number => (x - red) ** 2 + (y - green) ** 2 + (z - blue) ** 2;
  const level = 8 + 10 * grey;
  return off(levels[r], levels[g], levels[b]) <= off(level, level, level) ? 16 + 36 * r + 6 * g + b : 232 + grey;
}

/** The usual values of the 16 colours without black and white, which may be the background. */
const basic: readonly (readonly [code: number, red: number, green: number, blue: number])[] = [
  [31, 205, 49, 49],
  [32, 13, 188, 121],
  [33, 200, 160, 16],
  [34, 36, 114, 200],
  [35, 188, 63, 188],
  [36, 17, 168, 205],
  [90, 118, 118, 118],
];

function nearestBasic(red: number, green: number, blue: number): number {
  let best = basic[0];
  const off = ([, r, g, b]: (typeof basic)[number]): number => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
  for (const colour of basic) if (off(colour) < off(best)) best = colour;
  return best[0];
}
