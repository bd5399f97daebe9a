import { checkArgument, isRecord } from "./check-argument.js";
import { offloadingPlanFormat, offloads, type Plan, type PlanStep, type PlanValue, planFormat } from "./plan.js";
import { isPlanNode, type PlanOp } from "./plan-op.js";
import { formatTensorType, type TensorType } from "./tensor-type.js";

/**
 * Writes a plan as JSON with one op or step per line, so that it is readable and works with `diff`.
 *
 * @throws RematError `ARGUMENT`
 * @example
 * await fs.writeFile("plan.json", writePlan(plan));
 */
export function writePlan(plan: Plan): string {
  checkArgument(
    isRecord(plan) &&
      ["subject", "origin", "predicted"].every((field) => isRecord((plan as never)[field])) &&
      [plan.ops, plan.sources, plan.steps].every(Array.isArray),
    "writePlan's plan",
    plan,
    'one, such as await plan(model, { budget: "60%" }) or readPlan(text)',
  );
  const block = (value: unknown) => JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
  return [
    "{",
    `  "format": ${JSON.stringify(offloads(plan) ? offloadingPlanFormat : planFormat)},`,
    `  "subject": ${block(plan.subject)},`,
    `  "origin": ${block(plan.origin)},`,
    `  "predicted": ${block(plan.predicted)},`,
    `  "ops": ${list(plan.ops.map(planOpWriter()))},`,
    ...(plan.passes === undefined ? [] : [`  "passes": ${JSON.stringify(plan.passes)},`]),
    `  "sources": ${list(plan.sources.map((source) => JSON.stringify(source)))},`,
    `  "steps": ${list(plan.steps.map(writeStep))}`,
    "}",
    "",
  ].join("\n");
}

function list(items: readonly string[]): string {
  return items.length === 0 ? "[]" : `[\n    ${items.join(",\n    ")}\n  ]`;
}

/**
 * Returns a function that writes ops. `module` is left out for ops outside of modules, and `call` and `ordinal` are
 * left out if they are 0. Each name is quoted only once.
 */
function planOpWriter(): (op: PlanOp) => string {
  const quoted = new Map<string, string>();
  const quote = (name: string): string => {
    let text = quoted.get(name);
    if (text === undefined) quoted.set(name, (text = JSON.stringify(name)));
    return text;
  };
  const types = new Map<TensorType, string>();
  const typeText = (type: TensorType): string => {
    let text = types.get(type);
    if (text === undefined) types.set(type, (text = JSON.stringify(formatTensorType(type))));
    return text;
  };
  return (op) => {
    if (isPlanNode(op)) return JSON.stringify(op);
    const module = op.module === undefined ? "" : `"module":${quote(op.module)},`;
    const call = op.call === 0 ? "" : `"call":${op.call},`;
    const ordinal = op.ordinal === 0 ? "" : `"ordinal":${op.ordinal},`;
    return `{${module}${call}"phase":"${op.phase}","kernel":${quote(op.kernel)},${ordinal}"outputs":[${op.outputs.map(typeText).join()}]}`;
  };
}

function writeStep({ op, isRecomputed, free, offload, reload }: PlanStep): string {
  const moved = [valueNames("free", free), valueNames("offload", offload), valueNames("reload", reload)].join("");
  return `{"${isRecomputed ? "recompute" : "run"}":${op}${moved}}`;
}

function valueNames(field: string, values: readonly PlanValue[] = []): string {
  return values.length === 0 ? "" : `,"${field}":[${values.map(valueName).join()}]`;
}

/** Writes a value: `12:0` is output 0 of op 12, and `s3` is source 3. */
function valueName(value: PlanValue): string {
  return "source" in value ? `"s${value.source}"` : `"${value.op}:${value.output}"`;
}
