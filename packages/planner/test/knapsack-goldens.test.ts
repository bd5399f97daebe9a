import { type Golden, goldensOf } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { compareKnapsackGolden } from "./compare-knapsack-golden.js";

const goldens = goldensOf("knapsack-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));

test("a golden is there in the project's own copy", () => {
  expect(process.env["REMAT_GOLDENS"] !== undefined || goldens.length === 1).toBe(true);
});

describe.each(goldens)("$name", ({ golden }) => {
  test("ours keep to the budget and spare no less than PyTorch's", async () => {
    expect(await compareKnapsackGolden(golden)).toBeUndefined();
  });

  const solvers = ["greedy_knapsack", "ilp_knapsack", "dp_knapsack", "dp_knapsack_sliding_hirschberg"];
  const instances = golden["instances"] as { runtimes: number[]; max_memory: number }[];
  const changed = (
    solver: string,
    change: (answer: [number, number[], number[]], runtimes: number[]) => void,
  ): Golden[] =>
    instances.flatMap((instance, i) => {
      // At budget 0 upstream's answers are over it, and fewer items are no worse.
      if (i % 7 !== 3 || instance.max_memory === 0) return [];
      const copy = structuredClone(instance) as unknown as Record<string, [number, number[], number[]]>;
      if (!Array.isArray(copy[solver]) || copy[solver][1].length === 0) return [];
      change(copy[solver], instance.runtimes);
      return [{ schema: golden.schema, instances: [copy] }];
    });

  test.each(solvers)("does not agree with another runtime of %s", async (solver) => {
    const wrong = changed(solver, (answer) => {
      answer[0] *= 1 + 1e-4;
    });
    expect(wrong.length).toBeGreaterThan(3);
    for (const one of wrong) expect(await compareKnapsackGolden(one)).toMatch(/runtime .*, of its items/);
  });

  test.each(solvers)("does not agree with an item missing in %s", async (solver) => {
    for (const one of changed(solver, (answer) => answer[1].pop()))
      expect(await compareKnapsackGolden(one)).toMatch(/are not the \d+ items/);
  });

  test.each(["greedy_knapsack", "ilp_knapsack"])("does not agree with a worse set of %s", async (solver) => {
    for (const one of changed(solver, (answer, runtimes) => {
      const dearest = answer[1].reduce((one, item) => (runtimes[item] > runtimes[one] ? item : one));
      answer[1] = answer[1].filter((item) => item !== dearest);
      answer[2].push(dearest);
      answer[0] = answer[1].reduce((sum, item) => sum + runtimes[item], 0);
    }))
      expect(await compareKnapsackGolden(one)).toBeDefined();
  });
});
