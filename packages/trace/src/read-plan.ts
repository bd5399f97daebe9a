import { type Plan, type PlanSource, type PlanStep, type PlanValue, planFormat } from "./plan.js";
import { RematError } from "./remat-error.js";
import type { StepSettings } from "./step-settings.js";

/**
 * A plan from its JSON, as text or parsed, checked: every op runs once before it runs again, and what is dropped has been made.
 *
 * @throws RematError `PLAN_FORMAT` for another format or version, `PLAN_CORRUPT` naming the field that is not as it should be.
 * @example
 * const plan = readPlan(await fs.readFile("plan.json", "utf8"));
 */
export function readPlan(source: string | object): Plan {
  const file = record("the file", typeof source === "string" ? parse(source) : source);
  if (file["format"] !== planFormat)
    throw new RematError(
      "PLAN_FORMAT",
      `plan: expected format '${planFormat}', found ${JSON.stringify(file["format"])}; make the plan anew with this version`,
    );
  const ops = list("ops", file["ops"]).map((name, i) => text(`ops[${i}]`, name));
  const sources = list("sources", file["sources"]).map((item, i) => readSource(`sources[${i}]`, item, ops.length));
  const steps = list("steps", file["steps"]).map((item, i) =>
    readStep(`steps[${i}]`, item, ops.length, sources.length),
  );
  const plan: Plan = {
    subject: readSubject(record("subject", file["subject"])),
    origin: readOrigin(record("origin", file["origin"])),
    predicted: readPrediction(record("predicted", file["predicted"])),
    ops,
    sources,
    steps,
  };
  checkSteps(plan);
  return plan;
}

function parse(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (cause) {
    throw new RematError("PLAN_CORRUPT", `plan: not JSON (${(cause as Error).message})`, { cause });
  }
}

function readSubject(subject: Record<string, unknown>): Plan["subject"] {
  const kind = text("subject.kind", subject["kind"]);
  if (kind !== "trace" && kind !== "graph") throw corrupt("subject.kind", "'trace' or 'graph'", kind);
  return {
    ...optional("subject", subject, ["framework", "backend", "device"], text),
    ...optional("subject", subject, ["allocationUnitBytes"], number),
    ...optional("subject", subject, ["step"], (field, step) => readStepSettings(field, record(field, step))),
    kind,
    name: text("subject.name", subject["name"]),
    fingerprint: text("subject.fingerprint", subject["fingerprint"]),
  };
}

function readStepSettings(at: string, step: Record<string, unknown>): StepSettings {
  return {
    ...optional(at, step, ["batch"], number),
    ...optional(at, step, ["loss"], text),
    size: text(`${at}.size`, step["size"]),
    optimizer: text(`${at}.optimizer`, step["optimizer"]),
    grouping: text(`${at}.grouping`, step["grouping"]),
    seed: number(`${at}.seed`, step["seed"]),
  };
}

function readOrigin(origin: Record<string, unknown>): Plan["origin"] {
  const order = text("origin.order", origin["order"]);
  if (order !== "fixed" && order !== "free") throw corrupt("origin.order", "'fixed' or 'free'", order);
  return {
    ...optional("origin", origin, ["seed", "iterations", "seconds"], number),
    method: text("origin.method", origin["method"]),
    budgetBytes: number("origin.budgetBytes", origin["budgetBytes"]),
    order,
  };
}

function readPrediction(predicted: Record<string, unknown>): Plan["predicted"] {
  const plain = record("predicted.plain", predicted["plain"]);
  const amount = (field: string) => number(`predicted.${field}`, predicted[field]);
  return {
    ...optional("predicted", predicted, ["recordedPeakBytes"], number),
    peakBytes: amount("peakBytes"),
    cost: amount("cost"),
    overhead: amount("overhead"),
    lowerBound: amount("lowerBound"),
    gap: amount("gap"),
    plain: {
      peakBytes: number("predicted.plain.peakBytes", plain["peakBytes"]),
      cost: number("predicted.plain.cost", plain["cost"]),
    },
  };
}

function readSource(field: string, item: unknown, opCount: number): PlanSource {
  const source = record(field, item);
  return {
    before: index(`${field}.before`, source["before"], opCount + 1),
    ordinal: index(`${field}.ordinal`, source["ordinal"], Number.MAX_SAFE_INTEGER),
    bytes: number(`${field}.bytes`, source["bytes"]),
  };
}

function readStep(field: string, item: unknown, opCount: number, sourceCount: number): PlanStep {
  const step = record(field, item);
  const isAgain = "again" in step;
  const drop = step["drop"] === undefined ? [] : list(`${field}.drop`, step["drop"]);
  return {
    op: index(field, step[isAgain ? "again" : "run"], opCount),
    isAgain,
    drop: drop.map((name, i) =>
      readValue(`${field}.drop[${i}]`, text(`${field}.drop[${i}]`, name), opCount, sourceCount),
    ),
  };
}

function readValue(field: string, name: string, opCount: number, sourceCount: number): PlanValue {
  const source = /^s(\d+)$/.exec(name);
  if (source !== null) return { source: index(field, Number(source[1]), sourceCount) };
  const output = /^(\d+):(\d+)$/.exec(name);
  if (output === null) throw corrupt(field, "'op:output' or 's' and a source", name);
  return { op: index(field, Number(output[1]), opCount), output: Number(output[2]) };
}

function checkSteps({ ops, steps, origin }: Plan): void {
  const runs = new Uint8Array(ops.length);
  let next = 0;
  for (const [i, { op, isAgain, drop }] of steps.entries()) {
    if (isAgain !== (runs[op] === 1))
      throw corrupt(`steps[${i}]`, isAgain ? "an op that has run" : "an op that has not run", `op ${op}`);
    if (!isAgain && origin.order === "fixed" && op !== next++)
      throw corrupt(`steps[${i}]`, `op ${next - 1}, the next in a fixed order`, `op ${op}`);
    runs[op] = 1;
    for (const value of drop)
      if ("op" in value && runs[value.op] === 0)
        throw corrupt(`steps[${i}].drop`, "what has been made", `op ${value.op}`);
  }
  const missing = runs.indexOf(0);
  if (missing >= 0) throw corrupt("steps", "every op to run", `no run of op ${missing} ('${ops[missing]}')`);
}

function optional<Name extends string, Value>(
  at: string,
  from: Record<string, unknown>,
  names: readonly Name[],
  read: (field: string, value: unknown) => Value,
): { [K in Name]?: Value } {
  const found: { [K in Name]?: Value } = {};
  for (const name of names) if (from[name] !== undefined) found[name] = read(`${at}.${name}`, from[name]);
  return found;
}

function record(field: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw corrupt(field, "an object", value);
  return value as Record<string, unknown>;
}

function list(field: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw corrupt(field, "a list", value);
  return value;
}

function text(field: string, value: unknown): string {
  if (typeof value !== "string") throw corrupt(field, "text", value);
  return value;
}

function number(field: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw corrupt(field, "a number", value);
  return value;
}

function index(field: string, value: unknown, count: number): number {
  const found = number(field, value);
  if (!(Number.isInteger(found) && found >= 0 && found < count))
    throw corrupt(field, `an integer below ${count}`, found);
  return found;
}

function corrupt(field: string, expected: string, found: unknown): RematError {
  return new RematError(
    "PLAN_CORRUPT",
    `plan: ${field}: expected ${expected}, found ${JSON.stringify(found) ?? "nothing"}`,
  );
}
