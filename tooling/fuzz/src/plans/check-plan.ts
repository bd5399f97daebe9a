import { applyPlan, type PlanExecution } from "@remat/checkpoint";
import { type Plan, RematError, readPlan } from "@remat/trace";
import { methodsOf, type Outcome, stock } from "../../../../packages/checkpoint/test/users/ways.js";
import { compile } from "../programs/compile.js";
import { firstDifference } from "../programs/first-difference.js";
import { healEngine } from "../programs/heal-engine.js";

/**
 * Runs a program under a plan that may be anything: it is refused by a `RematError`, or the program does what it does in stock. After a
 * refusal the engine is as it was. Tells what is otherwise, or undefined.
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

/** What is wrong with a refusal. */
function refusal(error: unknown): string | undefined {
  return error instanceof RematError ? undefined : `raised ${(error as Error).stack ?? String(error)}`;
}
