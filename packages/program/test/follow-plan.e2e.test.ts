import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sampledCases } from "@remat/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { planOf } from "./plan-of.js";
import { runStock, runUnder } from "./run-program-under.js";

const programs = fileURLToPath(new URL("../../../examples/programs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-follow-plan-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Programs, which of their recorded steps is planned, a budget that takes recomputation, and how many of the program's passes are like that step's. */
const scripts = [
  ["mnist/train.mjs", 0, 0.48, 4],
  ["translation/train.mjs", 0, 0.2, 4],
  ["custom-loop/train.mjs", 0, 0.335, 7],
] as const;

describe.each(sampledCases(scripts, 3, 1))(
  "%s after a plan of its own recorded step",
  (script, recorded, budgetFraction, passes) => {
    it("does as stock, and recomputes in all passes that are like it", async () => {
      const command = [process.execPath, script];
      const { traces } = await runUnder({ kind: "record", steps: 2, seconds: 60 }, command, programs);
      const plan = await planOf(folder, traces[recorded], budgetFraction);
      const { stdout, reports } = await runUnder({ kind: "exec", plans: [plan] }, command, programs);
      expect(stdout).toBe(runStock(command, programs));
      const { executed } = reports[0];
      expect(executed?.planPasses).toEqual([passes]);
      expect(executed?.recomputedOps).toBeGreaterThan(0);
    });
  },
);
