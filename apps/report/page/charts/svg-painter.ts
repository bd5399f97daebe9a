import { chartFont, chartFontSize, type LineOptions, type Painter, type TextOptions } from "./painter.js";

/** Draws into an SVG document, for export. */
export class SvgPainter implements Painter {
  private readonly width: number;
  private readonly height: number;
  private readonly parts: string[] = [];

  constructor(width: number, height: number, background: string) {
    this.width = width;
    this.height = height;
    this.rect(0, 0, width, height, background);
  }

  rect(x: number, y: number, width: number, height: number, fill: string): void {
    this.parts.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${fill}"/>`,
    );
  }

  area(x: Float64Array, upper: Float64Array, lower: Float64Array, fill: string): void {
    if (x.length === 0) return;
    const there = Array.from(x, (at, i) => `${short(at)} ${short(upper[i])}`);
    const back = Array.from(x, (at, i) => `${short(at)} ${short(lower[i])}`).reverse();
    this.parts.push(`<path d="M${there.join("L")}L${back.join("L")}Z" fill="${fill}"/>`);
  }

  line(x: Float64Array, y: Float64Array, stroke: string, { width = 1, dash = [] }: LineOptions = {}): void {
    let path = "";
    let isDown = false;
    for (let i = 0; i < x.length; i++) {
      if (Number.isNaN(y[i])) isDown = false;
      else {
        path += `${isDown ? "L" : "M"}${short(x[i])} ${short(y[i])}`;
        isDown = true;
      }
    }
    if (path !== "")
      this.parts.push(
        `<path d="${path}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linejoin="round"${dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : ""}/>`,
      );
  }

  text(x: number, y: number, text: string, fill: string, { anchor = "start", isStrong }: TextOptions = {}): void {
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" fill="${fill}" text-anchor="${anchor}"${isStrong ? ' font-weight="600"' : ""}>${escapeXml(text)}</text>`,
    );
  }

  toString(): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${chartFont}" font-size="${chartFontSize}">${this.parts.join("")}</svg>`;
  }
}

const short = (value: number): string => String(Math.round(value * 100) / 100);

/** Escapes a text; XML has no place for control characters and lone surrogates, not even escaped. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
