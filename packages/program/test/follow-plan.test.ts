import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { planCheckpointing } from "@remat/planner";
import { writePlan } from "@remat/trace";
import { afterAll, describe, expect, it } from "vitest";
import { runStock, runUnder } from "./run-program-under.js";

const programs = fileURLToPath(new URL("../../../examples/programs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-follow-plan-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Programs, which of their recorded steps is planned, a budget that takes recomputation, and how many of the program's passes are like that step's. */
describe.each([
  ["mnist/train.mjs", 0, 0.48, 4],
  ["translation/train.mjs", 0, 0.2, 4],
  ["gan/train.cjs", 1, 0.41, 3],
  ["custom-loop/train.mjs", 0, 0.335, 7],
] as const)("%s after a plan of its own recorded step", (script, recorded, budgetFraction, passes) => {
  it("does as stock, and recomputes in all passes that are like it", async () => {
    const command = [process.execPath, script];
    const { traces } = await runUnder({ kind: "record", steps: 2, seconds: 60 }, command, programs);
    const options = { budgetFraction, timeMs: 1000, boundTimeMs: 0 };
    const { point } = await planCheckpointing(traces[recorded], options);
    if (point === undefined) throw new Error("there is no plan within the budget");
    const plan = join(folder, "plan.json");
    writeFileSync(plan, writePlan(point.plan));
    const { stdout, reports } = await runUnder({ kind: "exec", plan }, command, programs);
    expect(stdout).toBe(runStock(command, programs));
    const { executed } = reports[0];
    expect(executed?.plannedPasses).toBe(passes);
    expect(executed?.recomputedOps).toBeGreaterThan(0);
  });
});
