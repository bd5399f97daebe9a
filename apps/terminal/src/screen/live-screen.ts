import { formatBytes, formatMs, formatPercent, type StepView } from "@remat/reporting";
import { drawBands, legendOf } from "../drawing/draw-bands.js";
import { bandsOfSteps } from "../drawing/step-bands.js";
import type { AppState } from "../state/app-state.js";
import { fitText } from "../text/fit-text.js";
import { barText } from "../text/glyphs.js";
import { fitLine, type Line } from "../text/line.js";
import { type Look, themeOfLook } from "../text/look.js";

/** A step of a training program. */
export interface LiveStep {
  /** The first pass of the step, counted from 1. */
  readonly pass: number;
  /** Name of model and optimizer, if known. */
  readonly name: string;
  readonly stepMs: number;
  readonly view: StepView;
  /** Memory of the device that it ran on. Left out if unknown. */
  readonly memoryBytes?: number | undefined;
}

/** Content of the live screen. */
export interface LiveState {
  /** The program, as typed. */
  readonly program: string;
  /** The last watched steps, oldest first. */
  readonly steps: readonly LiveStep[];
  /** The watched step with the highest peak. */
  readonly most: LiveStep | undefined;
  /** The last lines of the program's output. */
  readonly output: readonly string[];
  readonly isPaused: boolean;
  /** How it ended. Undefined while it runs. */
  readonly ended: string | undefined;
}

const axisWidth = 10;
const barWidth = 12;
/** A lower plot is not useful. */
const leastPlotRows = 3;
/** Maximum rows for the program's output. */
const outputRows = 5;

/**
 * Draws a training program: memory by category over its last steps, the peak, its main parts, and the program's output.
 */
export function drawLive(
  state: LiveState,
  { columns: width, rows: height }: AppState["size"],
  look: Look,
): readonly Line[] {
  const { glyphs } = look;
  const fit = (line: Line): Line => fitLine(line, width, glyphs);
  const last = state.steps.at(-1);
  const title = fit([
    { text: " remat watch ", style: "title" },
    { text: state.program, style: "strong" },
    ...(state.ended === undefined ? [] : [{ text: `  ${state.ended}`, style: "warning" as const }]),
    ...(state.isPaused ? [{ text: "  paused", style: "warning" as const }] : []),
  ]);
  const output = state.output.slice(-Math.min(outputRows, Math.max(1, Math.floor(height / 5))));
  const below: Line[] = [
    ...(output.length === 0 ? [] : [fit([{ text: "output of the program", style: "header" }])]),
    ...output.map((text) => fit([{ text: ` ${text}`, style: "faint" }])),
  ];
  const keys = fit([
    { text: " q", style: "key" },
    { text: " end the program  ", style: "faint" },
    { text: "Space", style: "key" },
    { text: state.isPaused ? " continue  " : " pause  ", style: "faint" },
  ]);
  if (last === undefined) {
    const wait = "Waiting for the first training step: a pass and a weight update.";
    return filled([title, [], fit([{ text: ` ${wait}`, style: "faint" }])], [...below, keys], height);
  }
  const facts = [verdictLine(state, last), peakLine(last)].map(fit);
  const room = height - 1 - facts.length - below.length - 1;
  const rows = Math.min(last.view.categories.length + last.view.largest.length + 1, Math.floor(room / 2));
  const plot = drawPlot(state.steps, width, room - rows, look);
  return filled([title, ...facts, ...plot, ...madeOf(last, rows, width, look)], [...below, keys], height);
}

function filled(above: readonly Line[], below: readonly Line[], height: number): readonly Line[] {
  const top = above.slice(0, Math.max(0, height - below.length));
  const gap: Line[] = Array.from({ length: Math.max(0, height - top.length - below.length) }, () => []);
  return [...top, ...gap, ...below].slice(0, height);
}

function verdictLine({ most }: LiveState, last: LiveStep): Line {
  const held = most ?? last;
  const { memoryBytes } = held;
  const { peakBytes } = held.view;
  return [
    { text: " peak ", style: "faint" },
    { text: formatBytes(peakBytes), style: "strong" },
    ...(memoryBytes === undefined
      ? []
      : [
          {
            text: ` of ${formatBytes(memoryBytes)}, ${formatPercent(peakBytes / memoryBytes)}`,
            style: peakBytes > 0.9 * memoryBytes ? ("bad" as const) : ("good" as const),
          },
        ]),
    { text: ` at pass ${held.pass}`, style: "faint" },
  ];
}

function peakLine({ pass, name, stepMs, view: { peakBytes, peakOp, peakLine: line } }: LiveStep): Line {
  return [
    { text: ` pass ${pass} `, style: "strong" },
    { text: formatBytes(peakBytes), style: "accent" },
    { text: ` in ${peakOp}${line === undefined ? "" : `, ${line}`}` },
    { text: `  ${formatMs(stepMs)} while recorded${name === "" ? "" : `  ${name}`}`, style: "faint" },
  ];
}

/**
 * The last steps side by side, with bytes on the left, passes below, and a legend, or empty if `height` is too small.
 */
function drawPlot(steps: readonly LiveStep[], width: number, height: number, look: Look): readonly Line[] {
  const { glyphs } = look;
  const theme = themeOfLook(look);
  const plotWidth = Math.max(10, width - axisWidth);
  const { bands, sample } = bandsOfSteps(steps.map(({ view }) => view));
  const legendRows = Math.max(1, height - leastPlotRows - 1);
  const legend = legendOf(bands, sample, { width: width - 1, rows: legendRows, glyphs, theme });
  const plotHeight = height - 1 - legend.length;
  if (plotHeight < leastPlotRows) return [];
  const top = Math.max(1, ...sample.highestBytes);
  const plot = drawBands(bands, sample, { width: plotWidth, height: plotHeight, top, cursor: -1, glyphs, theme });
  const labels = new Map([
    [0, formatBytes(top)],
    [Math.floor(plotHeight / 2), formatBytes(top / 2)],
    [plotHeight - 1, "0 B"],
  ]);
  const lines = plot.map(
    (line, row): Line => [
      { text: fitText(labels.get(row) ?? "", axisWidth - 1, glyphs, { align: "right" }), style: "faint" },
      { text: glyphs.vertical, style: "faint" },
      ...line,
    ],
  );
  return [
    ...lines,
    passLine(steps, sample.count, plotWidth, look),
    ...legend.map((line) => fitLine([{ text: " " }, ...line], width, glyphs)),
  ];
}

function passLine(steps: readonly LiveStep[], columns: number, plotWidth: number, { glyphs }: Look): Line {
  let from = 0;
  let text = "";
  for (const { pass, view } of steps) {
    const at = Math.round((from / columns) * plotWidth);
    // A number that does not fit is left out.
    if (at >= text.length) text = `${text.padEnd(at)}${glyphs.corner}${pass} `;
    from += view.highestBytes.length;
  }
  return [
    { text: fitText("pass", axisWidth - 1, glyphs, { align: "right" }), style: "faint" },
    { text: ` ${fitText(text, plotWidth, glyphs)}`, style: "faint" },
  ];
}

/** The parts of a step's peak: categories, then as many of the largest storages as fit. */
function madeOf(
  { view: { categories, largest, peakBytes } }: LiveStep,
  rows: number,
  width: number,
  look: Look,
): readonly Line[] {
  const { glyphs } = look;
  const nameWidth = Math.min(18, width - barWidth - 24);
  const ofCategory = categories.map(
    ({ label, colour, bytes }): Line => [
      { text: ` ${fitText(label, nameWidth, glyphs)}` },
      { text: fitText(formatBytes(bytes), 11, glyphs, { align: "right" }) },
      { text: fitText(formatPercent(bytes / peakBytes), 8, glyphs, { align: "right" }), style: "faint" },
      { text: ` ${barText(bytes / peakBytes, barWidth, glyphs)}`, style: { colour } },
    ],
  );
  const ofLargest = largest.map(({ count, bytes, label, shape, maker, line }): Line => {
    const each = count === 1 ? formatBytes(bytes) : `${count} × ${formatBytes(bytes / count)}`;
    const what = [maker, shape, line ?? ""].filter((part) => part !== "").join(", ");
    return [{ text: ` ${fitText(each, nameWidth, glyphs)} ` }, { text: `${label}: ${what}`, style: "faint" }];
  });
  const heading: Line = [{ text: " Live tensors at the peak of the last pass", style: "header" }];
  return [heading, ...ofCategory, ...ofLargest].slice(0, rows).map((line) => fitLine(line, width, glyphs));
}
