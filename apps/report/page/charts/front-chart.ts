import { formatBytes, formatChosenPercent, formatPercent } from "@remat/reporting";
import { ticks } from "d3-array";
import { curveStepAfter, line } from "d3-shape";
import type { PlanFindings } from "../../src/data/report-meta.js";
import { s } from "../dom.js";
import { byteTicks } from "./byte-axis.js";
import { linearScale } from "./linear-scale.js";

const margin = { left: 52, right: 16, top: 30, bottom: 40 } as const;

/** Plans of the whole step: peak memory against extra time, with names for the recommended ones. */
export function frontChart(plans: PlanFindings, width: number, height: number): SVGSVGElement {
  const points = [...plans.front, ...plans.recommended].sort((a, b) => a.peakBytes - b.peakBytes);
  const most = Math.max(plans.recordedPeakBytes, ...points.map(({ peakBytes }) => peakBytes)) * 1.05;
  const dearest = Math.max(0.05, ...points.map(({ overhead }) => overhead)) * 1.1;
  const x = linearScale([0, most], [margin.left, width - margin.right]);
  const y = linearScale([0, dearest], [height - margin.bottom, margin.top]);
  const curve = line<{ peakBytes: number; overhead: number }>(
    (point) => x(point.peakBytes),
    (point) => y(point.overhead),
  );
  return s(
    "svg",
    {
      class: "front-chart",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label":
        "Plans of the whole step: peak memory against extra time. The table of recommended plans has the figures.",
    },
    ...ticks(0, dearest, 5).flatMap((tick) => [
      s("line", { class: "grid", x1: x(0), x2: width - margin.right, y1: y(tick), y2: y(tick) }),
      s("text", { class: "tick", x: margin.left - 8, y: y(tick) + 4, "text-anchor": "end" }, formatChosenPercent(tick)),
    ]),
    ...byteTicks(most, width < 420 ? 3 : 5).map(([bytes, label]) =>
      s("text", { class: "tick", x: x(bytes), y: height - margin.bottom + 17, "text-anchor": "middle" }, label),
    ),
    s("text", { class: "tick", x: width - margin.right, y: height - 6, "text-anchor": "end" }, "peak memory"),
    s("text", { class: "tick", x: 0, y: 12 }, "extra time"),
    s("line", {
      class: "recorded",
      x1: x(plans.recordedPeakBytes),
      x2: x(plans.recordedPeakBytes),
      y1: y(0),
      y2: y(dearest),
    }),
    s(
      "text",
      { class: "tick", x: x(plans.recordedPeakBytes) - 6, y: margin.top + 10, "text-anchor": "end" },
      width < 420 ? "recorded" : `as recorded ${formatBytes(plans.recordedPeakBytes)}`,
    ),
    s("path", { class: "front", d: curve.curve(curveStepAfter)(points) ?? "" }),
    s(
      "g",
      { class: "front-points" },
      ...plans.front.map((point) =>
        s(
          "circle",
          { cx: x(point.peakBytes), cy: y(point.overhead), r: 3 },
          s("title", {}, `${formatBytes(point.peakBytes)}, ${formatPercent(point.overhead)} more time`),
        ),
      ),
    ),
    ...plans.recommended.map((plan, i) => {
      const label = plan.allowedOverhead === 0 ? "no slowdown" : `≤ ${formatChosenPercent(plan.allowedOverhead)}`;
      const isRight = x(plan.peakBytes) > width * 0.6;
      return s(
        "g",
        { class: "recommended" },
        s(
          "circle",
          { cx: x(plan.peakBytes), cy: y(plan.overhead), r: 5 },
          s("title", {}, `${label}: ${formatBytes(plan.peakBytes)}`),
        ),
        s(
          "text",
          {
            x: x(plan.peakBytes) + (isRight ? -9 : 9),
            y: y(plan.overhead) - 8 - (i === 0 ? 4 : 0),
            "text-anchor": isRight ? "end" : "start",
          },
          label,
        ),
      );
    }),
  );
}
