const width = 960;
const panel = { width: 400, height: 300, top: 60, gap: 80, left: 64 };
const colours = { predicted: "#4269d0", measured: "#ff725c", stock: "#6c6c6c" };

/**
 * Draws memory against step time as SVG, a panel for each model: predictions for each budget, and measurements.
 *
 * @param curves `{ title, stockBytes, points: [{ predictedBytes, predictedRatio, measuredBytes, ratio }] }`, times as
 * ratios to the baseline's
 */
export function drawTradeOff(curves) {
  const height = panel.top + panel.height + 70;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>Memory against step time</title>`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...curves.flatMap((curve, i) => drawPanel(curve, panel.left + i * (panel.width + panel.gap))),
    `</svg>`,
    "",
  ].join("\n");
}

function drawPanel({ title, stockBytes, points }, left) {
  const bottom = panel.top + panel.height;
  const megabytes = [...points.flatMap((p) => [p.predictedBytes, p.measuredBytes]), stockBytes].map((b) => b / 1e6);
  const percentOf = (ratio) => 100 * (ratio - 1);
  const percents = points.flatMap((p) => [percentOf(p.predictedRatio), percentOf(p.ratio)]);
  const xTicks = niceTicks(0, Math.max(...megabytes));
  const yTicks = niceTicks(Math.min(0, ...percents), Math.max(5, ...percents));
  const x = (bytes) => left + (panel.width * bytes) / 1e6 / xTicks.at(-1);
  const heightOf = (percent) => bottom - (panel.height * (percent - yTicks[0])) / (yTicks.at(-1) - yTicks[0]);
  const y = (ratio) => heightOf(percentOf(ratio));
  const dot = (bytes, ratio, colour, radius = 4) =>
    `<circle cx="${x(bytes).toFixed(1)}" cy="${y(ratio).toFixed(1)}" r="${radius}" fill="${colour}"/>`;
  const line = points.map((p) => `${x(p.predictedBytes).toFixed(1)},${y(p.predictedRatio).toFixed(1)}`).join(" ");
  return [
    `<text x="${left}" y="24" font-weight="600">${title}</text>`,
    legend(left, 42),
    ...xTicks.map(
      (tick) =>
        `<path d="M${x(tick * 1e6)},${panel.top}V${bottom}" stroke="#e5e5e5"/><text x="${x(tick * 1e6)}" y="${bottom + 18}" text-anchor="middle">${tick}</text>`,
    ),
    ...yTicks.map(
      (tick) =>
        `<path d="M${left},${heightOf(tick)}h${panel.width}" stroke="${tick === 0 ? "#8c8c8c" : "#e5e5e5"}"/><text x="${left - 8}" y="${heightOf(tick) + 4}" text-anchor="end">${tick}</text>`,
    ),
    `<text x="${left + panel.width / 2}" y="${bottom + 42}" text-anchor="middle">peak over weights and batch, MB</text>`,
    `<text transform="translate(${left - 48},${panel.top + panel.height / 2}) rotate(-90)" text-anchor="middle">step time above baseline, %</text>`,
    `<polyline points="${line}" fill="none" stroke="${colours.predicted}" stroke-width="2"/>`,
    ...points.map((p) => dot(p.predictedBytes, p.predictedRatio, colours.predicted, 3)),
    ...points.map((p) => dot(p.measuredBytes, p.ratio, colours.measured)),
    dot(stockBytes, 1, colours.stock, 5),
  ];
}

function legend(left, top) {
  return ["predicted", "measured", "stock"]
    .map(
      (name, i) =>
        `<circle cx="${left + 4 + i * 90}" cy="${top - 4}" r="4" fill="${colours[name]}"/><text x="${left + 12 + i * 90}" y="${top}">${name}</text>`,
    )
    .join("");
}

/** About five round numbers whose range includes `min` and `max`. */
function niceTicks(min, max) {
  const rough = (max - min) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  const first = Math.floor(min / step + 1e-9);
  const last = Math.ceil(max / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
