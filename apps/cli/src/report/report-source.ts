import type { Plan } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { importerOf, isOf, type ModelSource, modelSource } from "../model-source.js";
import { UsageError } from "../usage-error.js";

/** The source of a report: a run, a model or a plan. */
export type ReportSource =
  | { readonly kind: "plan"; readonly name: string; readonly plan: Plan }
  | { readonly kind: "run"; readonly name: string; readonly model: ModelSource };

/** Distinguishes a plan from a run. */
export function reportSource(path: string): ReportSource {
  const model = modelSource(path);
  if (isOf(model, "graph"))
    throw new UsageError(
      `${path} is a graph, which has no run to report. Plan it, then report the plan: ${shell`remat plan ${shell.path(path)} --budget 80% -o plan.json`}.`,
    );
  if (isOf(model, "plan")) return { kind: "plan", name: model.name, plan: importerOf(model).read(model.path) };
  return { kind: "run", name: model.name, model };
}
