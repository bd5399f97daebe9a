import type { MemoryBand, MemoryBands, SampledBands } from "@remat/reporting";
import type { Glyphs } from "../text/glyphs.js";
import { type Line, lineWidth, type Span } from "../text/line.js";
import type { Style, Theme } from "../text/theme.js";

export interface DrawBandsOptions {
  /** In cells. */
  readonly width: number;
  readonly height: number;
  /** Bytes at the upper edge. */
  readonly top: number;
  /** Bucket of the cursor. */
  readonly cursor: number;
  readonly glyphs: Glyphs;
  readonly theme: Theme;
}

/**
 * Draws a stack of bands as cells. With colours and Unicode a cell shows the border of two bands to an eighth of its
 * height. Without colours bands differ by their fill.
 */
export function drawBands(bands: MemoryBands, sample: SampledBands, options: DrawBandsOptions): readonly Line[] {
  const { width, height, top, cursor, glyphs, theme } = options;
  const isFine = theme.depth !== "none" && !glyphs.isAscii;
  const styles = bandStyles(bands.bands);
  const stack: Stack = { edges: stackEdges(sample), highestBytes: sample.highestBytes, glyphs, styles };
  const bucketAt = (column: number): number => Math.min(sample.count - 1, Math.floor((column * sample.count) / width));
  return Array.from({ length: height }, (_, row): Line => {
    const spans: { text: string; style: Span["style"] }[] = [];
    const bottom = ((height - 1 - row) / height) * top;
    for (let column = 0; column < width; column++) {
      const bucket = bucketAt(column);
      const isCursor = bucket === cursor;
      const cell = isFine
        ? fineCell(stack, bucket, bottom, top / height)
        : plainCell(stack, bucket, bottom + top / height / 2, theme);
      const style = isCursor ? cursorStyle(cell.style) : cell.style;
      const text = isCursor && cell.text === " " ? glyphs.vertical : cell.text;
      const last = spans.at(-1);
      if (last !== undefined && last.style === style) last.text += text;
      else spans.push({ text, style });
    }
    return spans;
  });
}

export interface LegendOptions extends Pick<DrawBandsOptions, "width" | "glyphs" | "theme"> {
  /** Maximum number of lines. */
  readonly rows: number;
}

/**
 * Explains fills and colours in the order of the stack, for every band that occurs in the sample. If space is short, it
 * lists the largest bands and the number of others.
 */
export function legendOf(
  { bands }: MemoryBands,
  sample: SampledBands,
  { width, rows, glyphs, theme }: LegendOptions,
): readonly Line[] {
  const styles = bandStyles(bands);
  const items = bands
    .map((band, i) => ({
      mostBytes: Math.max(0, ...sample.bands[i]),
      spans: [
        { text: fillOf(i, glyphs, theme), style: styles[i] },
        { text: ` ${band.label}`, style: "faint" as const },
      ],
    }))
    .filter(({ mostBytes }) => mostBytes > 0);
  const largestFirst = items.toSorted((a, b) => b.mostBytes - a.mostBytes);
  const largest = (count: number): readonly Line[] => {
    const told = new Set(largestFirst.slice(0, count));
    const others = items.length - count;
    return wrapped(
      [
        ...items.filter((item) => told.has(item)).map(({ spans }) => spans),
        ...(others > 0 ? [[{ text: `+ ${others} smaller`, style: "faint" as const }]] : []),
      ],
      width,
    );
  };
  let count = items.length;
  while (count > 1 && largest(count).length > rows) count--;
  return largest(count).slice(0, rows);
}

/** Puts parts side by side, and on the next line if they do not fit. */
function wrapped(parts: readonly Line[], width: number): readonly Line[] {
  const lines: Line[] = [[]];
  for (const part of parts) {
    const line = lines[lines.length - 1];
    const longer = line.length === 0 ? part : [...line, { text: "  " }, ...part];
    if (line.length > 0 && lineWidth(longer) > width) lines.push(part);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

interface DrawnCell {
  readonly text: string;
  readonly style: Span["style"];
}

/** The stack of bands that is drawn. */
interface Stack extends Pick<SampledBands, "highestBytes"> {
  readonly edges: readonly Float64Array[];
  readonly glyphs: Glyphs;
  readonly styles: readonly Style[];
}

/** By band, then by bucket: the upper edge in bytes. */
function stackEdges(sample: SampledBands): readonly Float64Array[] {
  let below = new Float64Array(sample.count);
  return sample.bands.map((bytes) => (below = bytes.map((value, i) => value + below[i])));
}

function bandAt(edges: readonly Float64Array[], bucket: number, bytes: number): number {
  for (let band = 0; band < edges.length; band++) if (bytes < edges[band][bucket]) return band;
  return -1;
}

function fineCell(stack: Stack, bucket: number, bottom: number, size: number): DrawnCell {
  const { edges, highestBytes, styles } = stack;
  const { column } = stack.glyphs;
  const steps = column.length - 1;
  const lower = bandAt(edges, bucket, bottom + size / (2 * steps));
  if (lower < 0) {
    const inside = highestBytes[bucket] > bottom + size / 2;
    return inside ? { text: "·", style: "faint" } : { text: " ", style: undefined };
  }
  const filled = Math.round(((edges[lower][bucket] - bottom) / size) * steps);
  if (filled >= steps) return { text: column[steps], style: styles[lower] };
  const upper = bandAt(edges, bucket, bottom + size * (1 - 1 / (2 * steps)));
  const text = column[Math.max(1, filled)];
  if (upper < 0 || upper === lower) return { text, style: styles[lower] };
  return { text, style: bordered(styles[lower], styles[upper]) };
}

function plainCell(stack: Stack, bucket: number, middle: number, theme: Theme): DrawnCell {
  const { edges, highestBytes, glyphs, styles } = stack;
  const band = bandAt(edges, bucket, middle);
  if (band >= 0) return { text: fillOf(band, glyphs, theme), style: styles[band] };
  return highestBytes[bucket] > middle ? { text: ".", style: "faint" } : { text: " ", style: undefined };
}

function fillOf(band: number, glyphs: Glyphs, theme: Theme): string {
  // With colours, full cells distinguish bands best. Without colours, fills do.
  return theme.depth === "none" || glyphs.isAscii
    ? glyphs.fills[band % glyphs.fills.length]
    : glyphs.column[glyphs.column.length - 1];
}

// The same style object for the same look, so that adjacent cells become one span of text.
const ownStyles = new WeakMap<MemoryBand, Style>();
const borderStyles = new WeakMap<Style, WeakMap<Style, Style>>();
const cursorStyles = new WeakMap<Style, Style>();
const plainCursor: Style = { isInverse: true };

/** Returns the style of a band. */
export function bandStyle(band: MemoryBand): Style {
  const known = ownStyles.get(band) ?? { colour: band.colour };
  ownStyles.set(band, known);
  return known;
}

function bandStyles(bands: readonly MemoryBand[]): readonly Style[] {
  return bands.map(bandStyle);
}

function bordered(lower: Style, upper: Style): Style {
  const byUpper = borderStyles.get(lower) ?? new WeakMap<Style, Style>();
  borderStyles.set(lower, byUpper);
  const known = byUpper.get(upper) ?? { ...lower, ...(upper.colour && { background: upper.colour }) };
  byUpper.set(upper, known);
  return known;
}

function cursorStyle(style: Span["style"]): Style {
  if (style === undefined || typeof style === "string") return plainCursor;
  const known = cursorStyles.get(style) ?? { ...style, isInverse: true };
  cursorStyles.set(style, known);
  return known;
}
