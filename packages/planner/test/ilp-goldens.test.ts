import { type Golden, goldensOf, sampledCases } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { compareIlpGolden } from "./compare-ilp-golden.js";

const goldens = goldensOf("ilp-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));

test("a golden is there in the project's own copy", () => {
  expect(process.env["REMAT_GOLDENS"] !== undefined || goldens.length === 1).toBe(true);
});

describe.each(goldens)("$name", ({ golden }) => {
  test("module statistics, plans of the module tree and policies are no worse than PyTorch's", async () => {
    expect(await compareIlpGolden(golden)).toBeUndefined();
  });

  // biome-ignore lint/suspicious/noExplicitAny: a golden file's fields
  type Fields = any;
  /** The golden with one row of answers, or none, and `change` made to it. */
  const changed = (row: number | undefined, change: (copy: Fields, row: Fields) => void): Golden => {
    const copy: Fields = structuredClone(golden);
    copy.policies = {};
    copy.sac_milp = row === undefined ? [] : [copy.sac_milp[row]];
    change(copy, copy.sac_milp[0]);
    return copy as Golden;
  };

  const statistics = [
    "param_per_module",
    "grad_per_module",
    "grad_total",
    "act_fw_per_module",
    "act_grad_per_module",
    "act_total",
  ];
  test.each([...statistics, "sac_memory", "sac_runtime"])("does not agree with another %s", async (field) => {
    const modules = golden["module_info"].mod_stats as Record<string, unknown>[];
    for (const at of modules.keys()) {
      if (field.startsWith("sac") && golden["sac_stats"][modules[at]["fqn"] as string] === undefined) continue;
      const wrong = changed(undefined, (copy) => {
        copy.module_info.mod_stats[at][field] += 1;
      });
      expect(await compareIlpGolden(wrong)).toMatch(new RegExp(field));
    }
  });

  test("does not agree with another tree or baseline", async () => {
    const changes: ((copy: Fields) => void)[] = [
      (copy) => copy.graph.ad_matrix_ones.pop(),
      (copy) => copy.graph.ad_matrix_ones.push([1, 2]),
      (copy) => {
        copy.graph.nodes[3].pos_fw_post_order++;
      },
      (copy) => {
        copy.baseline.peak_mem++;
      },
      (copy) => {
        copy.baseline.compute_time += 1e-6;
      },
    ];
    for (const change of changes) expect(await compareIlpGolden(changed(undefined, change))).toBeDefined();
  });

  const rows = golden["sac_milp"] as Fields[];
  const settings = ["gap_0.05", "gap_0"];
  test.each(sampledCases(settings, 2))("does not agree with another answer of %s", async (setting) => {
    for (const [r, row] of rows.entries()) {
      if (row[setting].error !== undefined) continue;
      const isFeasible = row[setting].solver.status === "Optimal";
      const changes: ((answer: Fields) => void)[] = [
        (answer) => {
          answer.solver.status = isFeasible ? "Infeasible" : "Optimal";
        },
        (answer) => {
          answer.result[1] += 0.02;
        },
        (answer) => {
          answer.result[0]["Transformer.dropout"] = 0.5;
        },
        (answer) => {
          answer.result[2] = isFeasible ? answer.result[2] * 1.01 : 0;
        },
      ];
      if (isFeasible && Object.keys(row[setting].result[0]).length > 0)
        changes.push(
          (answer) => {
            answer.solver.objective *= 0.999;
            answer.result[1] = answer.solver.objective;
          },
          (answer) => {
            const [fqn] = Object.keys(answer.result[0]);
            answer.result[0][fqn] = answer.result[0][fqn] === 1 ? 0.99 : answer.result[0][fqn] + 0.01;
          },
          (answer) => {
            delete answer.result[0][Object.keys(answer.result[0])[0]];
          },
          (answer) => {
            const [fqn] = Object.keys(answer.result[0]);
            answer.result[0][`${fqn}.attention`] = answer.result[0][fqn];
          },
        );
      for (const [c, change] of changes.entries())
        expect(
          await compareIlpGolden(changed(r, (_, copy) => change(copy[setting]))),
          `row ${r}, change ${c}`,
        ).toBeDefined();
    }
  });

  test("does not agree with another policy", async () => {
    for (const fqn of Object.keys(golden["policies"])) {
      const copy: Fields = { ...structuredClone(golden), sac_milp: [] };
      const { result } = copy.policies[fqn][2].gap_0;
      result[0] = 1 - result[0];
      expect(await compareIlpGolden(copy as Golden)).toMatch(/^policy of/);
    }
  });
});
