import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Plan, planFormat, readPlan } from "@remat/trace";
import { type ModelSource, modelSource } from "../model-source.js";
import { UsageError } from "../usage-error.js";

/** What a report is made from: a run or a model, or a plan. */
export type ReportSource =
  | { readonly kind: "plan"; readonly name: string; readonly plan: Plan }
  | { readonly kind: "run"; readonly name: string; readonly model: ModelSource };

/** Tells a plan from everything else by its format. */
export function reportSource(path: string): ReportSource {
  const model = modelSource(path);
  if (model.kind === "graph")
    throw new UsageError(
      `${path} is a graph, of which there is no run to report. Plan it, and report the plan: remat plan ${path} --budget 80% -o plan.json.`,
    );
  if (model.kind === "keras") {
    const text = readFileSync(resolve(path), "utf8");
    if (text.slice(0, 400).includes(`"${planFormat}"`)) return { kind: "plan", name: model.name, plan: readPlan(text) };
  }
  return { kind: "run", name: model.name, model };
}
