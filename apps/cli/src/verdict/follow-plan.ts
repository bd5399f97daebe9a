import type { PlanCommand } from "@remat/reporting/answers";
import { findPlanMismatch, type Plan, type PlanSubject, type Trace } from "@remat/trace";
import { type ShellCode, shell } from "@remat/trace/emit";
import { formatExactBytes } from "@remat/trace/text";
import { isOf } from "../model-source.js";
import { planFileOf } from "../numbered-path.js";
import { type Given, typed } from "./next-command.js";

/** A loaded plan, and its file as typed. */
export interface PlanAtHand {
  readonly plan: Plan;
  readonly path: string;
}

/**
 * Returns the command for a step with a plan: one that runs the step under the plan. If the plan is for another step,
 * the command makes a plan for this one.
 */
export function commandToFollow(given: Given, trace: Trace, { plan, path }: PlanAtHand): ShellCode | undefined {
  const budget = formatExactBytes(plan.origin.budgetBytes);
  if (findPlanMismatch(plan, trace) !== undefined)
    return typed("plan", given, "--budget", budget, "-o", planFileOf(given.target));
  if (isOf(given.source, "model")) return typed("run", given, "--plan", path);
  if (trace.header.framework === "pytorch")
    return typed("plan", given, "--budget", budget, "--pytorch-policy", "policy.json");
  return commandOfSubject(plan.subject, path)?.command;
}

/** Returns the same for a plan alone, which does not contain the location of its model or program. */
export function commandOfSubject({ kind, framework, step }: PlanSubject, path: string): PlanCommand | undefined {
  if (kind === "graph" || framework !== "tfjs") return undefined;
  return step === undefined
    ? { command: shell`remat exec --plan ${shell.path(path)} -- PROGRAM`, stands: "PROGRAM" }
    : { command: shell`remat run MODEL --plan ${shell.path(path)}`, stands: "MODEL" };
}
