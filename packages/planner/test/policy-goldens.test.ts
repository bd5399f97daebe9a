import { type Golden, goldensOf } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { comparePolicyGolden, type PolicyRow } from "./compare-policy-golden.js";

const goldens = goldensOf("policy-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));

test("a golden is there in the project's own copy", () => {
  expect(process.env["REMAT_GOLDENS"] !== undefined || goldens.length === 1).toBe(true);
});

describe.each(goldens)("$name", ({ golden }) => {
  test("policies spare no less than PyTorch's, and are those that xformers publishes", async () => {
    expect(await comparePolicyGolden(golden)).toBeUndefined();
  });

  type Answer = { result: number[]; solver: { objective: number; status: string } };
  type Changed = { upstream_expected: number[]; "gap_0.05": Answer; gap_0: Answer };
  /** A golden of one row with `change` made to it. */
  const changed = (kind: "xformers" | "random", row: PolicyRow, change: (row: Changed) => void): Golden => {
    const copy = structuredClone(row) as unknown as Changed;
    change(copy);
    return { ...golden, xformers: [], random: [], [kind]: [copy] } as Golden;
  };
  const rows = (["xformers", "random"] as const).flatMap((kind) =>
    (golden[kind] as PolicyRow[]).map((row) => ({ kind, row, isFeasible: row.gap_0.solver.status === "Optimal" })),
  );

  test.each(["gap_0.05", "gap_0"] as const)("does not agree with one decision of %s turned", async (setting) => {
    for (const { kind, row, isFeasible } of rows) {
      if (!isFeasible) continue;
      for (const op of [0, Math.floor(row[setting].result.length / 2)]) {
        const wrong = changed(kind, row, (copy) => {
          copy[setting].result[op] = 1 - copy[setting].result[op];
        });
        expect(await comparePolicyGolden(wrong)).toBeDefined();
      }
    }
  });

  test.each(["gap_0.05", "gap_0"] as const)(
    "does not agree with another objective or status of %s",
    async (setting) => {
      for (const { kind, row, isFeasible } of rows) {
        const status = changed(kind, row, (copy) => {
          copy[setting].solver.status = isFeasible ? "Infeasible" : "Optimal";
        });
        expect(await comparePolicyGolden(status)).toBeDefined();
        if (!isFeasible) continue;
        const objective = changed(kind, row, (copy) => {
          copy[setting].solver.objective = copy[setting].solver.objective * 1.001 + 0.001;
        });
        expect(await comparePolicyGolden(objective)).toMatch(/objective .*, of its decisions/);
      }
    },
  );

  test("does not agree with another published decision", async () => {
    for (const { kind, row } of rows) {
      if (row.upstream_expected === undefined) continue;
      for (const op of row.upstream_expected.keys()) {
        const wrong = changed(kind, row, (copy) => {
          copy.upstream_expected[op] = 1 - copy.upstream_expected[op];
        });
        expect(await comparePolicyGolden(wrong)).toMatch(/expected/);
      }
    }
  });
});
