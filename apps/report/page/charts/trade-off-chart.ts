import { formatChosenPercent, type TradeOffPoint, type TradeOffView } from "@remat/reporting";
import { curveStepBefore, line } from "d3-shape";
import { s } from "../dom.js";
import { linearScale } from "./linear-scale.js";

export interface TradeOffChartOptions {
  readonly width: number;
  readonly height: number;
  readonly optimal: readonly TradeOffPoint[];
  /** Position and label of the budget. */
  readonly budget: { readonly at: TradeOffPoint; readonly label: string } | undefined;
}

const margin = { left: 52, right: 14, top: 24, bottom: 40 } as const;

/**
 * Draws kept memory against the time to recompute the rest: original points, shifted points, fitted pieces, the
 * optimum, the budget. More memory is on the right, as in all charts.
 */
export function tradeOffChart(view: TradeOffView, options: TradeOffChartOptions): SVGSVGElement {
  const { width, height } = options;
  // Points give the freed memory. The axis shows the kept memory, in the opposite direction.
  const x = linearScale([0, 1], [width - margin.right, margin.left]);
  const y = linearScale([0, 1], [height - margin.bottom, margin.top]);
  const breaks = view.pieces.map(({ from }) => from).slice(1);
  return s(
    "svg",
    {
      class: "trade-off-chart",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": describe(view),
    },
    ...[0, 0.25, 0.5, 0.75, 1].flatMap((tick) => [
      s("line", { class: "grid", x1: x(0), x2: x(1), y1: y(tick), y2: y(tick) }),
      s("line", { class: "grid", y1: y(0), y2: y(1), x1: x(tick), x2: x(tick) }),
      s("text", { class: "tick", x: x(1) - 8, y: y(tick) + 4, "text-anchor": "end" }, formatChosenPercent(tick)),
      s(
        "text",
        { class: "tick", x: x(1 - tick), y: y(0) + 17, "text-anchor": tick === 1 ? "end" : "middle" },
        formatChosenPercent(tick),
      ),
    ]),
    s("text", { class: "tick", x: x(0), y: height - 6, "text-anchor": "end" }, "memory saved"),
    s("text", { class: "tick", x: 0, y: 12 }, "forward pass recomputed"),
    ...breaks.map(([at]) => s("line", { class: "break", x1: x(at), x2: x(at), y1: y(0), y2: y(1) })),
    options.optimal.length > 1 && s("path", { class: "optimal", d: pathOf(options.optimal, x, y) }),
    s(
      "g",
      { class: "shifted" },
      ...view.shifted.map(([a, b]) =>
        s("circle", { cx: x(a), cy: y(b), r: view.shifted.length > mostCrosses ? 1 : 2 }),
      ),
    ),
    originalPoints(view.points, x, y),
    ...view.pieces.map(({ from, to }) =>
      s("line", { class: "piece", x1: x(from[0]), y1: y(from[1]), x2: x(to[0]), y2: y(to[1]) }),
    ),
    options.budget &&
      s(
        "g",
        { class: "budget" },
        s("line", { x1: x(options.budget.at[0]), x2: x(options.budget.at[0]), y1: y(0), y2: y(options.budget.at[1]) }),
        s("circle", { cx: x(options.budget.at[0]), cy: y(options.budget.at[1]), r: 5 }),
        s(
          "text",
          besidePoint(x(options.budget.at[0]), y(options.budget.at[1]), options.budget.label, width),
          options.budget.label,
        ),
      ),
  );
}

/** Position of a label next to a point: right of it, left of it, or as far right as possible. */
function besidePoint(x: number, y: number, label: string, width: number): Record<string, string | number> {
  const long = label.length * 7;
  if (x + 10 + long < width) return { x: x + 10, y: y - 10, "text-anchor": "start" };
  if (x - 10 - long > margin.left) return { x: x - 10, y: y - 10, "text-anchor": "end" };
  return { x: width - 2, y: y - 14, "text-anchor": "end" };
}

type Scale = (value: number) => number;

function pathOf(points: readonly TradeOffPoint[], x: Scale, y: Scale): string {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return (
    line<TradeOffPoint>(
      (point) => x(point[0]),
      (point) => y(point[1]),
      // Between two solved budgets, the cost of the smaller one is an upper bound.
    ).curve(curveStepBefore)(sorted) ?? ""
  );
}

/** More crosses than this would overlap. */
const mostCrosses = 250;

/** Crosses, or dots if there are many, in a single path. */
function originalPoints(points: readonly TradeOffPoint[], x: Scale, y: Scale): SVGPathElement {
  const isMany = points.length > mostCrosses;
  const mark = isMany ? "h0" : "m-3-3l6 6m0-6l-6 6";
  return s("path", {
    class: isMany ? "original dots" : "original",
    d: points.map(([a, b]) => `M${x(a).toFixed(1)} ${y(b).toFixed(1)}${mark}`).join(""),
  });
}

function describe({ points, pieces }: TradeOffView): string {
  return `Trade-off of ${points.length} points, fitted by ${pieces.length} pieces; the table below has their slopes`;
}

/** Draws a small curve for one of many modules, side by side on the same axes. */
export function tradeOffMultiple(view: TradeOffView, width: number, height: number): SVGSVGElement {
  const x = linearScale([0, 1], [width - 2, 2]);
  const y = linearScale([0, 1], [height - 2, 2]);
  return s(
    "svg",
    { class: "trade-off-multiple", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    s("path", { class: "frame", d: `M${x(1)} ${y(1)}V${y(0)}H${x(0)}` }),
    s("path", {
      class: "curve",
      d:
        line<TradeOffPoint>(
          (point) => x(point[0]),
          (point) => y(point[1]),
        )(view.points) ?? "",
    }),
  );
}
