import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { planCheckpointing } from "@remat/planner";
import { sampledCases } from "@remat/testkit";
import { readPlan, type Trace, writePlan } from "@remat/trace";
import { afterAll, describe, expect, it } from "vitest";
import { runStock, runUnder } from "./run-program-under.js";

const programs = fileURLToPath(new URL("../../../examples/programs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-follow-plan-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The path of a plan's file for a step. */
async function planOf(trace: Trace, budgetFraction: number, name = "plan"): Promise<string> {
  const options = { budgetFraction, timeMs: 1000, boundTimeMs: 0 };
  const { point } = await planCheckpointing(trace, options);
  if (point === undefined) throw new Error("there is no plan within the budget");
  const path = join(folder, `${name}.json`);
  writeFileSync(path, writePlan(point.plan));
  return path;
}

/** Programs, which of their recorded steps is planned, a budget that takes recomputation, and how many of the program's passes are like that step's. */
const scripts = [
  ["mnist/train.mjs", 0, 0.48, 4],
  ["translation/train.mjs", 0, 0.2, 4],
  ["custom-loop/train.mjs", 0, 0.335, 7],
] as const;

describe.each(sampledCases(scripts, 2, 1))(
  "%s after a plan of its own recorded step",
  (script, recorded, budgetFraction, passes) => {
    it("does as stock, and recomputes in all passes that are like it", async () => {
      const command = [process.execPath, script];
      const { traces } = await runUnder({ kind: "record", steps: 2, seconds: 60 }, command, programs);
      const plan = await planOf(traces[recorded], budgetFraction);
      const { stdout, reports } = await runUnder({ kind: "exec", plans: [plan] }, command, programs);
      expect(stdout).toBe(runStock(command, programs));
      const { executed } = reports[0];
      expect(executed?.planPasses).toEqual([passes]);
      expect(executed?.recomputedOps).toBeGreaterThan(0);
    });
  },
);

describe("two models that train in turn", () => {
  const command = [process.execPath, "gan/train.cjs"];
  const exec = (plans: readonly string[]) => runUnder({ kind: "exec", plans }, command, programs);

  it("follow a plan each, in what the plans promise; passes that none is for are released early", async () => {
    const { traces } = await runUnder({ kind: "record", steps: 2, seconds: 60 }, command, programs);
    const [discriminator, combined] = [
      await planOf(traces[0], 0.45, "discriminator"),
      await planOf(traces[1], 0.41, "combined"),
    ];
    const stock = runStock(command, programs);
    const promised = [discriminator, combined].map((path) => readPlan(readFileSync(path, "utf8")).predicted.peakBytes);
    const both = await exec([discriminator, combined]);
    expect(both.stdout).toBe(stock);
    expect(both.reports[0]).toMatchObject({
      passes: 6,
      device: "cpu",
      executed: { planPasses: [3, 3], peakPlan: 1, peakBytes: Math.max(...promised) },
    });
    const one = await exec([combined]);
    expect(one.stdout).toBe(stock);
    const { planPasses, peakPlan, recomputedOps } = one.reports[0].executed!;
    // The steps of the other one have a higher peak.
    expect([planPasses, peakPlan]).toEqual([[3], undefined]);
    expect(one.reports[0].executed!.leftPlan).toMatch(/^op \d+ is planned as .+, found .+/);
    expect(recomputedOps).toBeGreaterThan(0);
  });
});
