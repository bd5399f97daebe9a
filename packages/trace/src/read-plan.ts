import { checkPlanSteps } from "./check-plan-steps.js";
import { parseJsonText } from "./parse-json-text.js";
import { offloadingPlanFormat, type Plan, type PlanSource, type PlanStep, type PlanValue, planFormat } from "./plan.js";
import { PlanFieldError, readIndex, readList, readNumber, readOptional, readRecord, readText } from "./plan-fields.js";
import { planOpReader } from "./read-plan-op.js";
import { RematError } from "./remat-error.js";
import type { StepSettings } from "./step-settings.js";
import type { FasterGradients } from "./trace.js";
import { excerpt } from "./trace-field-error.js";
import { isFasterGradients } from "./trace-header.js";

/**
 * Reads a plan from its JSON, as text or as a parsed object. Checks that every op runs before it is recomputed, and
 * that every value is created before it is freed.
 *
 * @throws RematError `PLAN_FORMAT` for another format or version, and `PLAN_CORRUPT` with the name of the invalid field
 * @example
 * const plan = readPlan(await fs.readFile("plan.json", "utf8"));
 */
export function readPlan(source: string | object): Plan {
  try {
    return readFields(readRecord("the file", typeof source === "string" ? parse(source) : source));
  } catch (cause) {
    if (!(cause instanceof PlanFieldError)) throw cause;
    throw new RematError("PLAN_CORRUPT", `plan: ${cause.message}`, { cause });
  }
}

function parse(source: string): unknown {
  try {
    return parseJsonText(source);
  } catch (cause) {
    throw new RematError(
      "PLAN_CORRUPT",
      `plan: not JSON (${(cause as Error).message}). Use a plan written by \`remat plan -o\` or \`writePlan\`.`,
      { cause },
    );
  }
}

function readFields(file: Record<string, unknown>): Plan {
  const canOffload = file["format"] === offloadingPlanFormat;
  if (!canOffload && file["format"] !== planFormat)
    throw new RematError(
      "PLAN_FORMAT",
      `plan: expected format '${planFormat}' or '${offloadingPlanFormat}', found ${excerpt(file["format"])}. Plan again with this version of remat.`,
    );
  const subject = readSubject(readRecord("subject", file["subject"]));
  const ops = readList("ops", file["ops"], planOpReader(subject.kind));
  const sources = readList("sources", file["sources"], (item) => readSource(item, ops.length));
  const passes = file["passes"];
  const steps = readList("steps", file["steps"], (item) => {
    const step = readStep(item, ops.length, sources.length);
    if (!canOffload && (step.offload ?? step.reload) !== undefined)
      throw new PlanFieldError("", `a step of format '${planFormat}'`, "offload or reload");
    return step;
  });
  const plan: Plan = {
    subject,
    origin: readOrigin(readRecord("origin", file["origin"])),
    predicted: readPrediction(readRecord("predicted", file["predicted"])),
    ops,
    ...(passes !== undefined && { passes: readList("passes", passes, (item) => readIndex("", item, ops.length)) }),
    sources,
    steps,
  };
  checkPlanSteps(plan);
  return plan;
}

function readSubject(subject: Record<string, unknown>): Plan["subject"] {
  const kind = readText("subject.kind", subject["kind"]);
  if (kind !== "trace" && kind !== "graph") throw new PlanFieldError("subject.kind", "'trace' or 'graph'", kind);
  return {
    ...readOptional("subject", subject, ["framework", "backend", "device"], readText),
    ...readOptional("subject", subject, ["allocationUnitBytes"], readNumber),
    ...readOptional("subject", subject, ["fasterGradients"], readFasterGradients),
    ...readOptional("subject", subject, ["step"], (field, step) => readStepSettings(field, readRecord(field, step))),
    kind,
    name: readText("subject.name", subject["name"]),
    fingerprint: readText("subject.fingerprint", subject["fingerprint"]),
  };
}

function readFasterGradients(field: string, value: unknown): FasterGradients {
  if (!isFasterGradients(value)) throw new PlanFieldError(field, "'equal' or 'reordered'", value);
  return value;
}

function readStepSettings(at: string, step: Record<string, unknown>): StepSettings {
  return {
    ...readOptional(at, step, ["batch"], readNumber),
    ...readOptional(at, step, ["loss", "data"], readText),
    size: readText(`${at}.size`, step["size"]),
    optimizer: readText(`${at}.optimizer`, step["optimizer"]),
    grouping: readText(`${at}.grouping`, step["grouping"]),
    seed: readNumber(`${at}.seed`, step["seed"]),
  };
}

function readOrigin(origin: Record<string, unknown>): Plan["origin"] {
  const order = readText("origin.order", origin["order"]);
  if (order !== "fixed" && order !== "free") throw new PlanFieldError("origin.order", "'fixed' or 'free'", order);
  return {
    ...readOptional("origin", origin, ["linkBytesPerSecond", "seed", "iterations"], readNumber),
    method: readText("origin.method", origin["method"]),
    budgetBytes: readNumber("origin.budgetBytes", origin["budgetBytes"]),
    order,
  };
}

function readPrediction(predicted: Record<string, unknown>): Plan["predicted"] {
  const plain = readRecord("predicted.plain", predicted["plain"]);
  const amount = (field: string) => readNumber(`predicted.${field}`, predicted[field]);
  return {
    ...readOptional("predicted", predicted, ["recordedPeakBytes"], readNumber),
    peakBytes: amount("peakBytes"),
    cost: amount("cost"),
    overhead: amount("overhead"),
    lowerBound: amount("lowerBound"),
    gap: amount("gap"),
    plain: {
      peakBytes: readNumber("predicted.plain.peakBytes", plain["peakBytes"]),
      cost: readNumber("predicted.plain.cost", plain["cost"]),
    },
  };
}

function readSource(item: unknown, opCount: number): PlanSource {
  const source = readRecord("", item);
  return {
    before: readIndex(".before", source["before"], opCount + 1),
    ordinal: readIndex(".ordinal", source["ordinal"], Number.MAX_SAFE_INTEGER),
    bytes: readNumber(".bytes", source["bytes"]),
  };
}

function readStep(item: unknown, opCount: number, sourceCount: number): PlanStep {
  const step = readRecord("", item);
  const isRecomputed = "recompute" in step;
  const readValues = (field: string, value: unknown): PlanValue[] =>
    readList(field, value, (name) => readValue(readText("", name), opCount, sourceCount));
  return {
    ...readOptional("", step, ["offload", "reload"], readValues),
    op: readIndex("", step[isRecomputed ? "recompute" : "run"], opCount),
    isRecomputed,
    free: step["free"] === undefined ? [] : readValues(".free", step["free"]),
  };
}

function readValue(name: string, opCount: number, sourceCount: number): PlanValue {
  const source = /^s(\d+)$/.exec(name);
  if (source !== null) return { source: readIndex("", Number(source[1]), sourceCount) };
  const output = /^(\d+):(\d+)$/.exec(name);
  if (output === null) throw new PlanFieldError("", "'op:output' or 's' and a source", name);
  return { op: readIndex("", Number(output[1]), opCount), output: Number(output[2]) };
}
