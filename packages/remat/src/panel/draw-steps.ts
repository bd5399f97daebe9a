import { categoryStack, formatBytes, type StepView } from "@remat/reporting";

const svg = "http://www.w3.org/2000/svg";
/** Width of the drawing, in its own units. */
const width = 600;
/** Height of the drawing, in its own units. */
const height = 120;

function element(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(svg, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** Draws the last steps next to each other, as stacked bands of live memory. A line shows the budget. */
export function drawSteps(steps: readonly StepView[], budgetBytes: number | undefined): SVGElement {
  const top = Math.max(1, budgetBytes ?? 0, ...steps.map(({ peakBytes }) => peakBytes));
  const total = Math.max(
    1,
    steps.reduce((sum, { highestBytes }) => sum + highestBytes.length, 0),
  );
  const picture = element("svg", {
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": describeSteps(steps),
  });
  const y = (bytes: number): number => height - (bytes / top) * (height - 4);
  let from = 0;
  for (const step of steps) {
    const columns = step.highestBytes.length;
    const x = (column: number): number => ((from + column) / total) * width;
    let below = new Float64Array(columns);
    for (const category of categoryStack) {
      const bytes = step.bands.get(category);
      if (bytes === undefined) continue;
      const above = bytes.map((held, column) => held + (below[column] ?? 0));
      picture.append(element("path", { class: category, d: bandPath(below, above, x, y) }));
      below = above;
    }
    if (step !== steps[0]) picture.append(element("line", { class: "turn", x1: x(0), x2: x(0), y1: 0, y2: height }));
    from += columns;
  }
  if (budgetBytes !== undefined)
    picture.append(element("line", { class: "budget", x1: 0, x2: width, y1: y(budgetBytes), y2: y(budgetBytes) }));
  return picture;
}

/** Returns the outline of a band in steps: forward along its upper edge and back along its lower one. */
function bandPath(
  lowerEdge: Float64Array,
  upperEdge: Float64Array,
  x: (column: number) => number,
  y: (bytes: number) => number,
): string {
  const at = (value: number): string => value.toFixed(1);
  let forth = "";
  let back = "";
  for (const [column, upperBytes] of upperEdge.entries()) {
    const [left, right] = [at(x(column)), at(x(column + 1))];
    const upper = at(y(upperBytes));
    const lower = at(y(lowerEdge[column] ?? 0));
    forth += `${column === 0 ? "M" : "L"}${left} ${upper}L${right} ${upper}`;
    back = `L${right} ${lower}L${left} ${lower}${back}`;
  }
  return `${forth}${back}Z`;
}

/** Describes the drawing for screen readers. */
function describeSteps(steps: readonly StepView[]): string {
  const last = steps.at(-1);
  if (last === undefined) return "No step has been seen yet.";
  const peaks = steps.map(({ peakBytes }) => formatBytes(peakBytes)).join(", ");
  return `Live memory of the last ${steps.length} steps by category; peaks: ${peaks}.`;
}
