import type { Glyphs } from "./glyphs.js";
import type { Line, Span } from "./line.js";

/** Bits of a braille character, by row and column of its dots. */
const dotBits = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

/** Two columns and four rows of dots in a cell. */
const dotsPerCell = { x: 2, y: 4 } as const;

/**
 * Draws curves with braille characters, eight dots to a cell. In ASCII a cell shows whether its upper or lower half is
 * touched. A cell has the style of the last item drawn there.
 */
export class DotCanvas {
  readonly width: number;
  readonly height: number;
  private readonly bits: Uint8Array;
  private readonly styles: Span["style"][];
  private readonly texts = new Map<number, string>();
  private readonly glyphs: Glyphs;

  /** In cells. */
  constructor(width: number, height: number, glyphs: Glyphs) {
    this.width = width;
    this.height = height;
    this.glyphs = glyphs;
    this.bits = new Uint8Array(width * height);
    this.styles = new Array<Span["style"]>(width * height).fill(undefined);
  }

  /** Draws a dot at shares of the width and height, with (0, 0) at the bottom left. */
  dot(x: number, y: number, style: Span["style"]): void {
    this.set(Math.round(x * (this.width * dotsPerCell.x - 1)), this.rowOf(y), style);
  }

  line(x0: number, y0: number, x1: number, y1: number, style: Span["style"]): void {
    const columns = this.width * dotsPerCell.x - 1;
    const [fromX, toX] = [x0 * columns, x1 * columns];
    const [fromY, toY] = [this.rowOf(y0), this.rowOf(y1)];
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(toX - fromX), Math.abs(toY - fromY))));
    for (let i = 0; i <= steps; i++)
      this.set(Math.round(fromX + ((toX - fromX) * i) / steps), Math.round(fromY + ((toY - fromY) * i) / steps), style);
  }

  /** Replaces the dots of a cell by a character. */
  mark(x: number, y: number, text: string, style: Span["style"]): void {
    const column = Math.min(this.width - 1, Math.max(0, Math.floor(x * this.width)));
    const row = Math.min(this.height - 1, Math.max(0, Math.floor((1 - y) * this.height)));
    this.texts.set(row * this.width + column, text);
    this.styles[row * this.width + column] = style;
  }

  lines(): readonly Line[] {
    return Array.from({ length: this.height }, (_, row) => {
      const spans: { text: string; style: Span["style"] }[] = [];
      for (let column = 0; column < this.width; column++) {
        const cell = row * this.width + column;
        const text = this.texts.get(cell) ?? this.character(this.bits[cell]);
        const last = spans.at(-1);
        if (last !== undefined && (last.style === this.styles[cell] || text === " ")) last.text += text;
        else spans.push({ text, style: this.styles[cell] });
      }
      return spans;
    });
  }

  private rowOf(y: number): number {
    return Math.round((1 - y) * (this.height * dotsPerCell.y - 1));
  }

  private set(x: number, y: number, style: Span["style"]): void {
    if (x < 0 || y < 0 || x >= this.width * dotsPerCell.x || y >= this.height * dotsPerCell.y) return;
    const cell = Math.floor(y / dotsPerCell.y) * this.width + Math.floor(x / dotsPerCell.x);
    this.bits[cell] |= dotBits[y % dotsPerCell.y][x % dotsPerCell.x];
    this.styles[cell] = style;
  }

  private character(bits: number): string {
    if (bits === 0) return " ";
    if (!this.glyphs.isAscii) return String.fromCharCode(0x2800 + bits);
    const upper = (bits & 0x1b) !== 0;
    const lower = (bits & 0xe4) !== 0;
    return upper && lower ? ":" : upper ? "'" : ".";
  }
}
