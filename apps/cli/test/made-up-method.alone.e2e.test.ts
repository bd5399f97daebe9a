import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planOfCheckpoints } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { moduleStatistics, type PlanMethod } from "@remat/planner/methods";
import { goldenFiles } from "@remat/testkit";
import { readPlan } from "@remat/trace";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { remat } from "./run.js";

/** A made-up method, which recomputes nothing, whatever the budget. */
const idleMethod = vi.hoisted(
  (): PlanMethod => ({
    name: "idle",
    purpose: "nothing at all",
    budgetOf: "step",
    takes: new Set(["modules"]),
    plan: async (trace, { budget, modules = [] }) => {
      const { modules: seen } = moduleStatistics(trace);
      const budgetBytes = budget !== undefined && "bytes" in budget ? budget.bytes : 0;
      return {
        plan: planOfCheckpoints(trace, planningGraphOfTrace(trace), [], { budgetBytes, method: "idle" }),
        trace,
        notes: [`left alone: ${modules.join(", ")}`],
        tables: [
          {
            name: "idle",
            title: "Left alone",
            columns: [
              ["Modules", "count"],
              ["Memory", "bytes"],
            ],
            rows: [[seen.length, 2048]],
            data: { modules: seen.length },
          },
        ],
      };
    },
  }),
);
type Registry = { readonly planMethods: readonly PlanMethod[] };
// The line of the registry.
vi.mock("../../../packages/planner/src/methods/plan-methods.js", async (original) => ({
  planMethods: [...(await original<Registry>()).planMethods, idleMethod],
}));

const transformer = goldenFiles().find(({ name }) => name === "mem_tf_b2_adam")!.path;
const idle = ["plan", transformer, "--method", "idle"];
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-method-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("is all that has to be written: a made-up method plans, tells what it has to say, and its plan is written", async () => {
  const path = join(folder, "plan.json");
  const { code, stdout } = await remat(...idle, "--budget", "2GB", "--module", "layers.*", "-o", path);
  expect(code).toBe(0);
  expect(stdout).toContain("note: left alone: layers.*");
  expect(stdout).toMatch(/Left alone\n\n=+ {2}=+\n +Modules {2}Memory\n=+ {2}=+\n +\d+ {2}2 KiB\n/);
  expect(readPlan(readFileSync(path, "utf8")).origin).toMatchObject({ method: "idle", budgetBytes: 2e9 });
  const json = JSON.parse((await remat(...idle, "--budget", "2GB", "--format", "json")).stdout);
  expect(json.idle.modules).toBeGreaterThan(5);
});

it("finds nothing where its plan holds more than the budget: exit code 3, nothing written", async () => {
  const path = join(folder, "none.json");
  const { code, stdout, stderr } = await remat(...idle, "--budget", "1MB", "-o", path);
  expect(code).toBe(3);
  expect(stdout).toContain("the simulated peak exceeds the budget: idle found no plan within it");
  expect(stderr).toMatch(
    /--method idle found nothing within 976\.6 KiB: its plan has a simulated peak of \d+B \([\d.]+ MiB\)\./,
  );
  expect(existsSync(path)).toBe(false);
});

it("is in help, and is refused what it does not take", async () => {
  expect((await remat("plan", "--help", "--all")).stdout.replace(/\s+/g, " ")).toContain("idle (nothing at all");
  const refusal = async (...args: string[]) => {
    const { code, stderr } = await remat(...idle, ...args);
    expect(code).toBe(2);
    return stderr;
  };
  expect(await refusal("--max-overhead", "5%")).toContain("--method idle needs a --budget, such as --budget 60%.");
  expect(await refusal("--budget", "90%", "--pareto", "3")).toContain(
    "--pareto works with --method schedule, not with idle.",
  );
  expect((await remat("plan", transformer, "--budget", "90%", "--module", "x")).stderr).toContain(
    "--module works with --method modules, dp, milp, greedy or idle, not with schedule.",
  );
});
