import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { planCheckpointing } from "@remat/planner";
import { type Trace, writePlan } from "@remat/trace";

/** Plans a step within a share of its peak. Writes the plan into a folder, and returns its path. */
export async function planOf(folder: string, trace: Trace, budgetFraction: number, name = "plan"): Promise<string> {
  const options = { budgetFraction, timeMs: 1000, boundTimeMs: 0 };
  const { point } = await planCheckpointing(trace, options);
  if (point === undefined) throw new Error("there is no plan within the budget");
  const path = join(folder, `${name}.json`);
  writeFileSync(path, writePlan(point.plan));
  return path;
}
