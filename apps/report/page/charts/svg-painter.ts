import { type Html, html } from "@remat/trace/emit";
import { chartFont, chartFontSize, type LineOptions, type Painter, type TextOptions } from "./painter.js";

/** Draws into an SVG document, for export. */
export class SvgPainter implements Painter {
  private readonly width: number;
  private readonly height: number;
  private readonly parts: Html[] = [];

  constructor(width: number, height: number, background: string) {
    this.width = width;
    this.height = height;
    this.rect(0, 0, width, height, background);
  }

  rect(x: number, y: number, width: number, height: number, fill: string): void {
    this.parts.push(
      html`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${fill}"/>`,
    );
  }

  area(x: Float64Array, upper: Float64Array, lower: Float64Array, fill: string): void {
    if (x.length === 0) return;
    const there = Array.from(x, (at, i) => `${short(at)} ${short(upper[i])}`);
    const back = Array.from(x, (at, i) => `${short(at)} ${short(lower[i])}`).reverse();
    this.parts.push(html`<path d="M${there.join("L")}L${back.join("L")}Z" fill="${fill}"/>`);
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
        html`<path d="${path}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linejoin="round" stroke-dasharray="${dash.length > 0 ? dash.join(" ") : "none"}"/>`,
      );
  }

  text(x: number, y: number, text: string, fill: string, { anchor = "start", isStrong }: TextOptions = {}): void {
    this.parts.push(
      html`<text x="${short(x)}" y="${short(y)}" fill="${fill}" text-anchor="${anchor}" font-weight="${isStrong ? "600" : "normal"}">${text}</text>`,
    );
  }

  toString(): string {
    return html`<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${chartFont}" font-size="${chartFontSize}">${this.parts}</svg>`
      .html;
  }
}

const short = (value: number): string => String(Math.round(value * 100) / 100);
