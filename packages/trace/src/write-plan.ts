import { type Plan, type PlanStep, type PlanValue, planFormat } from "./plan.js";

/**
 * A plan as JSON with one op, and one step, a line: readable, and comparable with `diff`.
 *
 * @example
 * await fs.writeFile("plan.json", writePlan(plan));
 */
export function writePlan(plan: Plan): string {
  const lines = (items: readonly unknown[]) =>
    items.length === 0 ? "[]" : `[\n${items.map((item) => `    ${JSON.stringify(item)}`).join(",\n")}\n  ]`;
  const block = (value: unknown) => JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
  return [
    "{",
    `  "format": ${JSON.stringify(planFormat)},`,
    `  "subject": ${block(plan.subject)},`,
    `  "origin": ${block(plan.origin)},`,
    `  "predicted": ${block(plan.predicted)},`,
    `  "ops": ${lines(plan.ops)},`,
    `  "sources": ${lines(plan.sources)},`,
    `  "steps": ${lines(plan.steps.map(stepRecord))}`,
    "}",
    "",
  ].join("\n");
}

function stepRecord({ op, isAgain, drop }: PlanStep): object {
  return { [isAgain ? "again" : "run"]: op, ...(drop.length > 0 && { drop: drop.map(valueName) }) };
}

/** `12:0` is output 0 of op 12, `s3` source 3. */
function valueName(value: PlanValue): string {
  return "source" in value ? `s${value.source}` : `${value.op}:${value.output}`;
}
