import { applyPlan, type PlanExecution } from "@remat/checkpoint";
import { type Plan, RematError, readPlan } from "@remat/trace";
import { methodsOf, type Outcome, stock } from "../../../../packages/checkpoint/test/users/ways.js";
import { compile } from "../programs/compile.js";
import { firstDifference } from "../programs/first-difference.js";
import { healEngine } from "../programs/heal-engine.js";

/**
 * Runs a program under an arbitrary plan. Either a `RematError` rejects it, or the program behaves as unmodified. After
 * a rejection the engine must be restored. Returns any difference, or undefined.
 */
export async function checkPlan(source: string, file: object, expected: Outcome): Promise<string | undefined> {
  let plan: Plan;
  try {
    plan = readPlan(file);
  } catch (error) {
    return refusal(error);
  }
  const methods = methodsOf();
  for (const onMismatch of ["refuse", "store"] as const) {
    let execution: PlanExecution | undefined;
    try {
      execution = applyPlan(plan, { onMismatch });
      const difference = firstDifference(expected, await stock(compile(source)));
      if (difference !== undefined) return `${onMismatch}: ${difference}`;
    } catch (error) {
      const wrong = refusal(error);
      if (wrong !== undefined) return `${onMismatch}: ${wrong}`;
    } finally {
      execution?.close();
      healEngine();
    }
    const patched = [...methodsOf()].filter(([name, method]) => methods.get(name) !== method);
    if (patched.length > 0) return `${onMismatch}: still patched: ${patched.map(([name]) => name).join(", ")}`;
    const again = firstDifference(expected, await stock(compile(source)));
    healEngine();
    if (again !== undefined) return `${onMismatch}: stock afterwards: ${again}`;
  }
  return undefined;
}

/** The problem with a rejection. */
function refusal(error: unknown): string | undefined {
  return error instanceof RematError ? undefined : `raised ${(error as Error).stack ?? String(error)}`;
}
