import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readPlan } from "@remat/trace";
import { afterAll, describe, expect, it } from "vitest";
import { planOf } from "./plan-of.js";
import { runStock, runUnder } from "./run-program-under.js";

const programs = fileURLToPath(new URL("../../../examples/programs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-plans-in-turn-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("two models that train in turn", () => {
  const command = [process.execPath, "gan/train.cjs"];
  const exec = (plans: readonly string[]) => runUnder({ kind: "exec", plans }, command, programs);

  it("follow a plan each, in what the plans promise; passes that none is for are released early", async () => {
    const { traces } = await runUnder({ kind: "record", steps: 2, seconds: 60 }, command, programs);
    const [discriminator, combined] = [
      await planOf(folder, traces[0], 0.45, "discriminator"),
      await planOf(folder, traces[1], 0.41, "combined"),
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
