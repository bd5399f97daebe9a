import { type Html, html } from "@remat/trace/emit";
import { formatNumber, formatWholePercent } from "@remat/trace/text";

/**
 * Data of the drawing by {@link tradeOffSvg}. x is freed memory and y is recomputation time, as fractions of the total.
 */
export interface TradeOffGraph {
  /** Title of the drawing. */
  readonly title: string;
  /** Total memory in bytes. */
  readonly memoryBytes: number;
  /** Total time in milliseconds. */
  readonly runtimeMs: number;
  /** The trade-off curve. */
  readonly original: readonly (readonly [x: number, y: number])[];
  /** The curve shifted so that the fit bounds it. The line is fitted to these points. */
  readonly shifted: readonly (readonly [x: number, y: number])[];
  /** Ends of the fitted pieces, one more than pieces. Piece i is `slopes[i] * x + intercepts[i]`. */
  readonly breaks: readonly number[];
  /** Slope of each piece. */
  readonly slopes: readonly number[];
  /** Value at x = 0 of each piece's line. */
  readonly intercepts: readonly number[];
}

const width = 720;
const height = 480;
const left = 72;
const right = 24;
const top = 64;
const bottom = 60;

/**
 * Returns the trade-off of a module as an SVG document. It plots recomputation time against freed memory, with the
 * original and shifted points and the fitted pieces. It is self-contained, safe for any title, and readable on a white
 * background.
 *
 * @example
 * writeFileSync("Transformer.svg", tradeOffSvg({ title: "Transformer", ... }));
 */
export function tradeOffSvg(graph: TradeOffGraph): string {
  const xs = [...graph.original, ...graph.shifted].map(([x]) => x);
  const ys = [...graph.original, ...graph.shifted].map(([, y]) => y);
  const xMax = Math.max(1, ...xs.filter(Number.isFinite));
  const yMax = Math.max(1, ...ys.filter(Number.isFinite));
  const px = (x: number): string => (left + (x / xMax) * (width - left - right)).toFixed(1);
  const py = (y: number): string => (height - bottom - (y / yMax) * (height - top - bottom)).toFixed(1);
  const grid: Html[] = [];
  for (let i = 0; i <= 5; i++) {
    const value = i / 5;
    grid.push(
      html`<line x1="${px(value)}" x2="${px(value)}" y1="${py(0)}" y2="${py(yMax)}"/>`,
      html`<line x1="${px(0)}" x2="${px(xMax)}" y1="${py(value)}" y2="${py(value)}"/>`,
    );
  }
  const labels: Html[] = [];
  for (let i = 0; i <= 5; i++) {
    const value = i / 5;
    labels.push(
      html`<text x="${px(value)}" y="${height - bottom + 18}" text-anchor="middle">${formatWholePercent(value)}</text>`,
      html`<text x="${left - 8}" y="${py(value)}" text-anchor="end" dominant-baseline="middle">${formatWholePercent(value)}</text>`,
    );
  }
  const pieces = graph.slopes.map((slope, i) => {
    const [from, to] = [graph.breaks[i], graph.breaks[i + 1]];
    return html`<line x1="${px(from)}" y1="${py(slope * from + graph.intercepts[i])}" x2="${px(to)}" y2="${py(slope * to + graph.intercepts[i])}"/>`;
  });
  const circles = graph.shifted.map(([x, y]) => html`<circle cx="${px(x)}" cy="${py(y)}" r="3"/>`);
  const crosses = graph.original.map(([x, y]) => html`<path d="M${px(x)} ${py(y)}m-3 -3l6 6m0 -6l-6 6"/>`);
  const legend = (x: number, mark: Html, text: string): Html =>
    html`<g transform="translate(${x} 52)">${mark}<text x="14" y="4">${text}</text></g>`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12" fill="#24292f" role="img">
<title>${graph.title}: recomputation time against memory discarded</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${left}" y="24" font-size="15" font-weight="600">${graph.title}</text>
<text x="${left}" y="40" fill="#57606a">${formatNumber(graph.memoryBytes)} B, ${graph.runtimeMs.toPrecision(5)} ms in the forward pass</text>
<g stroke="#d8dee4" stroke-width="1">${grid}</g>
<g fill="#57606a">${labels}</g>
<g clip-path="inset(0)" stroke="#0969da" stroke-width="2" stroke-linecap="round">${pieces}</g>
<g fill="#bc4c00" fill-opacity="0.75">${circles}</g>
<g stroke="#24292f" stroke-width="1.2" fill="none">${crosses}</g>
${legend(width - 300, html`<path d="M-3 -3l6 6m0 -6l-6 6" stroke="#24292f" fill="none"/>`, "original")}
${legend(width - 210, html`<circle r="3" fill="#bc4c00"/>`, "shifted")}
${legend(width - 124, html`<line x1="-6" x2="6" stroke="#0969da" stroke-width="2"/>`, "fitted pieces")}
<text x="${(left + width - right) / 2}" y="${height - 16}" text-anchor="middle">memory discarded / total memory</text>
<text transform="translate(18 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">recomputation time / total time</text>
</svg>
`.html;
}
