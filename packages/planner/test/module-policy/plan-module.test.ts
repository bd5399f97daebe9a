import { greedyOrder } from "@remat/sac-core";
import { checkedShare } from "@remat/testkit/checked-share";
import { RematError } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InfeasibleBudgetError } from "../../src/infeasible-budget-error.js";
import { type ModulePolicyOptions, planModule } from "../../src/module-policy/plan-module.js";
import { brokenConstraint, type GoldenStats, sacStatsOf } from "../compare-policy-golden.js";

const indices = (ops: number) =>
  fc.uniqueArray(fc.nat(ops - 1), { maxLength: 3 }).map((list) => list.sort((a, b) => a - b));

/** A module of up to 12 ops with every kind of constraint; contradictory ones included. */
const modules: fc.Arbitrary<GoldenStats> = fc.integer({ min: 1, max: 12 }).chain((ops) =>
  fc.record({
    func_names: fc.constant(Array.from({ length: ops }, (_, op) => `op${op}`)),
    runtimes: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: ops, maxLength: ops }),
    memory: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: ops, maxLength: ops }),
    view_like_ops: indices(ops),
    rand_ops: indices(ops),
    inplace_ops: fc.array(
      fc.nat(ops - 1).chain((op) => fc.nat(op).map((parent): [number, number] => [op, parent])),
      { maxLength: 3 },
    ),
    force_store_random: fc.boolean(),
  }),
);

interface Best {
  readonly recomputationMs: number;
  readonly smallestBytes: number;
}

/** The least recomputation within the budget, and the least memory of any policy, by trying all; Infinity where there is none. */
function bestPolicy(stats: GoldenStats, budgetBytes: number): Best {
  const ops = stats.memory.length;
  let [recomputationMs, smallestBytes] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let set = 0; set < 1 << ops; set++) {
    const isStored = Array.from({ length: ops }, (_, op) => (set >> op) & 1);
    if (brokenConstraint(stats, isStored, Number.POSITIVE_INFINITY) !== undefined) continue;
    const bytes = stats.memory.reduce((sum, one, op) => sum + one * isStored[op], 0);
    smallestBytes = Math.min(smallestBytes, bytes);
    if (bytes <= budgetBytes)
      recomputationMs = Math.min(
        recomputationMs,
        stats.runtimes.reduce((sum, one, op) => sum + one * (1 - isStored[op]), 0),
      );
  }
  return { recomputationMs, smallestBytes };
}

test.each([
  ["dp", 300],
  ["greedy", 300],
  ["milp", 60],
] as const)("%s against all policies of up to 12 ops", async (method, numRuns) => {
  const given = checkedShare();
  await fc.assert(
    fc.asyncProperty(modules, fc.nat(60), async (golden, budgetBytes) => {
      const best = bestPolicy(golden, budgetBytes);
      const policy = await planModule(sacStatsOf(golden), { budgetBytes, method }).catch((error: unknown) => error);
      if (best.smallestBytes === Number.POSITIVE_INFINITY) {
        expect(policy).toMatchObject({ code: "POLICY_INPUT" });
        return;
      }
      if (!given(best.recomputationMs < Number.POSITIVE_INFINITY)) {
        expect(policy).toMatchObject({ code: "BUDGET_INFEASIBLE", smallestBudgetBytes: best.smallestBytes });
        return;
      }
      if (policy instanceof Error) throw policy;
      const found = policy as Awaited<ReturnType<typeof planModule>>;
      expect(brokenConstraint(golden, found.isStored, budgetBytes)).toBeUndefined();
      expect([...found.storedOps]).toEqual([...found.isStored.keys()].filter((op) => found.isStored[op] === 1));
      expect([...found.recomputedOps]).toEqual([...found.isStored.keys()].filter((op) => found.isStored[op] === 0));
      const stored = golden.memory.reduce((sum, one, op) => sum + one * found.isStored[op], 0);
      const recomputed = golden.runtimes.reduce((sum, one, op) => sum + one * (1 - found.isStored[op]), 0);
      expect(found).toMatchObject({ method, budgetBytes, storedBytes: stored, recomputationMs: recomputed });
      expect(found.lowerBoundMs).toBeLessThanOrEqual(best.recomputationMs + 1e-9);
      if (method !== "greedy") expect(found).toMatchObject({ recomputationMs: best.recomputationMs, gap: 0 });
    }),
    { seed: 20261, numRuns },
  );
});

test("dp and milp agree on 5,000 ops with groups and views, and greedy comes near", async () => {
  const ops = 5000;
  let state = 20_262;
  const next = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const list = Array.from({ length: ops }, (_, op) => op);
  const isView = list.map(() => next() < 0.3);
  const views = list.filter((op) => isView[op]);
  const rest = list.filter((op) => !isView[op]);
  const golden: GoldenStats = {
    func_names: list.map((op) => `op${op}`),
    memory: list.map((op) => (isView[op] ? 0 : 512 * Math.floor(next() * 100_000))),
    runtimes: list.map((op) => (isView[op] ? 0 : next())),
    view_like_ops: views,
    rand_ops: rest.filter((_, i) => i % 50 === 9),
    inplace_ops: rest.flatMap((op, i): [number, number][] =>
      i % 20 === 5 ? [[op, rest[i - 1]]] : i % 500 === 33 ? [[op, op]] : [],
    ),
    force_store_random: false,
  };
  const stats = sacStatsOf(golden);
  const [dp, milp, greedy] = [
    await planModule(stats, { budgetFraction: 0.35 }),
    await planModule(stats, { budgetFraction: 0.35, method: "milp" }),
    await planModule(stats, { budgetFraction: 0.35, method: "greedy" }),
  ];
  for (const { isStored, budgetBytes } of [dp, milp, greedy])
    expect(brokenConstraint(golden, isStored, budgetBytes)).toBeUndefined();
  expect([dp.gap, milp.gap]).toEqual([expect.closeTo(0, 9), expect.closeTo(0, 9)]);
  expect(milp.recomputationMs).toBeCloseTo(dp.recomputationMs, 9);
  // Greedy needs 0.0047% more.
  expect(greedy.recomputationMs).toBeLessThan(dp.recomputationMs * 1.0004);
  expect(greedy.lowerBoundMs).toBeLessThanOrEqual(dp.recomputationMs);
  // The greedy order of sac-core knows the same ops that are stored in any case.
  expect(Array.from(greedyOrder(stats).storedOps).every((op) => dp.isStored[op] === 1)).toBe(true);
});

const module: GoldenStats = {
  func_names: ["mm", "dropout", "relu_", "t"],
  runtimes: [4, 1, 1, 0],
  memory: [100, 50, 0, 0],
  view_like_ops: [3],
  rand_ops: [1],
  inplace_ops: [[2, 2]],
  force_store_random: true,
};

test("a budget below what has to be stored names the ops and the smallest budget", async () => {
  const refused = planModule(sacStatsOf(module), { budgetBytes: 49 });
  await expect(refused).rejects.toThrow(InfeasibleBudgetError);
  await expect(refused).rejects.toMatchObject({
    code: "BUDGET_INFEASIBLE",
    smallestBudgetBytes: 50,
    message: expect.stringMatching(
      /take 50 B, more than the budget of 49 B\. Raise the budget to 50B\. The largest: op 1 \(dropout\) with 50 B\./,
    ),
  });
  expect(Array.from((await planModule(sacStatsOf(module), { budgetBytes: 50 })).isStored)).toEqual([0, 1, 1, 0]);
});

test("a module without ops has a policy without ops", async () => {
  const empty = {
    ...module,
    func_names: [],
    runtimes: [],
    memory: [],
    view_like_ops: [],
    rand_ops: [],
    inplace_ops: [],
  };
  expect(await planModule(sacStatsOf(empty), { budgetFraction: 0 })).toMatchObject({
    recomputationMs: 0,
    storedBytes: 0,
    gap: 0,
  });
});

describe("refused", () => {
  const cases: [string, Partial<GoldenStats>, object, RegExp][] = [
    ["a runtime that is NaN", { runtimes: [4, Number.NaN, 1, 0] }, {}, /op 1 \(dropout\): runtimesMs is NaN, expected/],
    ["negative memory", { memory: [-1, 0, 0, 0] }, {}, /op 0 \(mm\): memoryBytes is -1/],
    ["a runtime too few", { runtimes: [4, 1, 1] }, {}, /there are 4 sizes, 3 runtimes and 4 names/],
    ["an op that is not there", { view_like_ops: [4] }, {}, /viewLikeOps names op 4: expected one of the 4 ops/],
    [
      "an op that is stored and recomputed",
      { view_like_ops: [1] },
      {},
      /op 1 \(dropout\) is a random op that has to be stored, but is a view/,
    ],
    [
      "tied ops that are stored and recomputed",
      {
        inplace_ops: [
          [2, 1],
          [2, 2],
          [2, 3],
        ],
        rand_ops: [],
      },
      {},
      /op 2 \(relu_\) is an in-place op on an argument, which has to be stored, but is tied to op 3 \(t\), a view/,
    ],
    ["a share above 1", {}, { budgetFraction: 1.1 }, /budgetFraction is 1.1: expected a number from 0 to 1/],
    ["a share as text", {}, { budgetFraction: "0.5" }, /budgetFraction is "0.5"/],
    ["bytes that are NaN", {}, { budgetBytes: Number.NaN }, /budgetBytes is NaN/],
    ["two budgets", {}, { budgetBytes: 1, budgetFraction: 1 }, /pass exactly one of budgetBytes and budgetFraction/],
    ["no budget", {}, { method: "dp" }, /pass exactly one of budgetBytes and budgetFraction/],
    [
      "an unknown method",
      {},
      { budgetFraction: 1, method: "ilp" },
      /unknown method "ilp". Use "dp", "milp" or "greedy"/,
    ],
  ];
  test.each(cases)("%s", async (_, change, options, message) => {
    const given = Object.keys(options).length > 0 ? options : { budgetFraction: 0.5 };
    const refused = planModule(sacStatsOf({ ...module, ...change }), given as ModulePolicyOptions);
    await expect(refused).rejects.toThrow(RematError);
    await expect(refused).rejects.toMatchObject({ code: "POLICY_INPUT", message: expect.stringMatching(message) });
  });
});
