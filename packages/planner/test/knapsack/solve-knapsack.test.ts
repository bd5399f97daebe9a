import { RematError } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Knapsack, KnapsackSolution } from "../../src/knapsack/knapsack.js";
import { solveKnapsack } from "../../src/knapsack/solve-knapsack.js";
import { bestChoice } from "./best-choice.js";

const methods = ["dp", "ilp", "greedy"] as const;
const seeded = { seed: 20260, numRuns: 300 };

/** Items with sizes that are whole numbers, some of them and some of the runtimes zero. */
const wholeItems = (maxLength: number, maxSize = 20) =>
  fc.array(
    fc.record({
      memory: fc.integer({ min: 0, max: maxSize }),
      runtime: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 10, noNaN: true })),
    }),
    { minLength: 1, maxLength },
  );

const columns = (items: readonly { memory: number; runtime: number }[]) => ({
  memory: items.map((item) => item.memory),
  runtime: items.map((item) => item.runtime),
});

function check({ memory, runtime, budget }: Knapsack, solution: KnapsackSolution): void {
  const everything = [...solution.saved, ...solution.recomputed].sort((a, b) => a - b);
  expect(everything).toEqual(Array.from(memory, (_, i) => i));
  expect(solution.saved).toEqual([...solution.saved].sort((a, b) => a - b));
  expect(solution.memory).toBe(solution.saved.reduce((sum, i) => sum + memory[i], 0));
  expect(solution.runtime).toBe(solution.saved.reduce((sum, i) => sum + runtime[i], 0));
  expect(solution.memory).toBeLessThanOrEqual(budget);
  expect(solution.bound).toBeGreaterThanOrEqual(solution.runtime);
  expect(solution.gap).toBe(solution.bound > 0 ? (solution.bound - solution.runtime) / solution.bound : 0);
}

describe("against all choices of up to 12 items", () => {
  test.each(["dp", "greedy"] as const)("%s", async (method) => {
    await fc.assert(
      fc.asyncProperty(wholeItems(12), fc.nat(150), async (items, budget) => {
        const knapsack = { ...columns(items), budget };
        const solution = await solveKnapsack({ ...knapsack, method });
        check(knapsack, solution);
        const best = bestChoice(knapsack.memory, knapsack.runtime, budget);
        expect(solution.bound).toBeGreaterThanOrEqual(best * (1 - 1e-12));
        if (method === "dp") expect(solution.runtime).toBeCloseTo(best, 9);
        else expect(solution.runtime).toBeGreaterThanOrEqual(best / 2);
      }),
      seeded,
    );
  });

  test("ilp", async () => {
    await fc.assert(
      fc.asyncProperty(wholeItems(12), fc.nat(150), async (items, budget) => {
        const knapsack = { ...columns(items), budget };
        const solution = await solveKnapsack({ ...knapsack, method: "ilp" });
        check(knapsack, solution);
        expect(solution.runtime).toBeCloseTo(bestChoice(knapsack.memory, knapsack.runtime, budget), 9);
      }),
      { ...seeded, numRuns: 60 },
    );
  });

  test("with sizes that are shares of their sum, as the partitioner has them", async () => {
    await fc.assert(
      fc.asyncProperty(wholeItems(10, 1000), fc.double({ min: 0, max: 1, noNaN: true }), async (items, budget) => {
        const { memory, runtime } = columns(items);
        const sum = memory.reduce((all, one) => all + one, 0) || 1;
        const shares = memory.map((one) => one / sum);
        const solution = await solveKnapsack({ memory: shares, runtime, budget });
        expect(solution.memory).toBeLessThanOrEqual(budget * (1 + 1e-14));
        expect(solution.runtime).toBeGreaterThanOrEqual(bestChoice(shares, runtime, budget) * (1 - 1e-12));
      }),
      seeded,
    );
  });
});

describe("dp and ilp agree", () => {
  const random = (seed: number) => {
    let state = seed >>> 0;
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
  };
  const cases: Record<string, (next: () => number) => { memory: number; runtime: number }> = {
    "unrelated runtimes and sizes": (next) => ({ memory: 512 * Math.floor(1 + next() * 1e5), runtime: next() }),
    "runtimes about proportional to sizes": (next) => {
      const memory = 512 * Math.floor(1 + next() * 1e5);
      return { memory, runtime: (memory / 2.039e9) * (0.8 + next() * 0.4) };
    },
    "few kinds of items": (next) => {
      const kind = Math.floor(next() * 6);
      return { memory: 25165824 * (kind + 1), runtime: [0.33, 0.02, 1.32, 0.09, 0.88, 0.5][kind] };
    },
    fractions: (next) => ({ memory: next() ** 4, runtime: next() * 10 }),
  };
  test.each(Object.keys(cases))("on 5,000 items with %s", async (name) => {
    const knapsack = instance(cases[name]);
    const [dp, ilp] = [await solveKnapsack(knapsack), await solveKnapsack({ ...knapsack, method: "ilp" })];
    check(knapsack, dp);
    check(knapsack, ilp);
    expect(dp.gap).toBeLessThan(1e-9);
    expect(ilp.gap).toBeLessThan(1e-9);
    expect(Math.abs(dp.runtime - ilp.runtime)).toBeLessThan(dp.runtime * 1e-9);
  });

  const proportional = (next: () => number) => {
    const memory = 512 * Math.floor(1 + next() * 1e5);
    return { memory, runtime: memory / 2.039e9 };
  };
  const hard = {
    "runtimes proportional to sizes": proportional,
    "runtimes that are sizes and a constant": (next: () => number) => {
      const { memory, runtime } = proportional(next);
      return { memory, runtime: runtime + 0.005 };
    },
  };
  test.each(Object.keys(hard) as (keyof typeof hard)[])("within their gaps on 5,000 items with %s", async (name) => {
    const knapsack = instance(hard[name]);
    const [dp, ilp] = [
      await solveKnapsack(knapsack),
      await solveKnapsack({ ...knapsack, method: "ilp", timeLimitS: 1 }),
    ];
    for (const solution of [dp, ilp]) {
      check(knapsack, solution);
      expect(solution.gap).toBeLessThan(1e-3); // 1.2e-4
    }
    expect(dp.runtime).toBeLessThanOrEqual(ilp.bound * (1 + 1e-12));
    expect(ilp.runtime).toBeLessThanOrEqual(dp.bound * (1 + 1e-12));
  });
  const instance = (item: (next: () => number) => { memory: number; runtime: number }): Knapsack => {
    const next = random(7);
    const { memory, runtime } = columns(Array.from({ length: 5000 }, () => item(next)));
    return { memory, runtime, budget: memory.reduce((sum, one) => sum + one, 0) * 0.4 };
  };
});

describe("each method", () => {
  test.each(methods)("%s saves what takes nothing, and nothing that spares nothing", async (method) => {
    expect(await solveKnapsack({ memory: [0, 0, 4, 4], runtime: [0, 3, 0, 2], budget: 4, method })).toEqual({
      method,
      saved: [0, 1, 3],
      recomputed: [2],
      runtime: 5,
      memory: 4,
      bound: 5,
      gap: 0,
    });
  });

  test.each(methods)("%s saves all when all fits, whatever rounding adds", async (method) => {
    const tenths = { memory: new Array<number>(10).fill(0.1), runtime: new Array<number>(10).fill(1) };
    expect((await solveKnapsack({ ...tenths, budget: 1, method })).saved).toHaveLength(10);
    expect((await solveKnapsack({ ...tenths, budget: 0.99, method })).saved).toHaveLength(9);
    expect(
      (await solveKnapsack({ memory: [1, 2], runtime: [1, 1], budget: Number.POSITIVE_INFINITY, method })).saved,
    ).toEqual([0, 1]);
  });

  test.each(methods)("%s saves no item at budget 0, however small", async (method) => {
    const { saved } = await solveKnapsack({ memory: [1e-300, 0, 5e-324], runtime: [1, 1, 1], budget: 0, method });
    expect(saved).toEqual([1]);
  });

  test.each(methods)("%s tells 1 byte over the budget from none", async (method) => {
    const memory = [2 ** 40, 2 ** 40 + 1, 2 ** 40];
    const { saved } = await solveKnapsack({ memory, runtime: [2, 1.5, 2], budget: 2 ** 41, method });
    expect(saved).toEqual([0, 2]);
  });
});

test("greedy takes the one best item where that is more", async () => {
  const { saved, gap } = await solveKnapsack({ memory: [1, 100], runtime: [2, 100], budget: 100, method: "greedy" });
  expect({ saved, gap }).toEqual({ saved: [1], gap: expect.closeTo(0.01, 2) });
});

test("a hard instance gets a feasible answer with its gap", async () => {
  // All sizes but one are even and the budget is odd. No bound shows that the last byte cannot be filled.
  const memory = Array.from({ length: 3000 }, (_, i) => 2 * (5_000_011 + ((i * 7919 * 104_729) % 4_999_999)));
  memory[0] = 3_000_000_003;
  const knapsack = { memory, runtime: memory, budget: 3_000_000_001 };
  const solution = await solveKnapsack(knapsack);
  check(knapsack, solution);
  expect(solution.gap).toBeLessThan(1e-6); // 1.1e-7
});

describe("refused, naming the item", () => {
  const good = { memory: [1, 2], runtime: [1, 1], budget: 1 };
  const cases: [string, object, RegExp][] = [
    ["NaN memory", { memory: [1, Number.NaN] }, /item 1: 'memory' is NaN, expected a number of at least 0/],
    ["negative memory", { memory: [-1, 2] }, /item 0: 'memory' is -1/],
    ["infinite runtime", { runtime: [1, Number.POSITIVE_INFINITY] }, /item 1: 'runtime' is Infinity/],
    ["text for a size", { memory: ["5", 2] }, /item 0: 'memory' is "5"/],
    ["no items", { memory: [], runtime: [] }, /there are no items/],
    ["lists of different length", { runtime: [1] }, /'memory' has 2 items and 'runtime' 1/],
    ["budget as text", { budget: "1" }, /'budget' is "1": expected a number/],
    ["NaN budget", { budget: Number.NaN }, /'budget' is NaN/],
    ["negative budget", { budget: -1 }, /'budget' is -1/],
    ["unknown method", { method: "best" }, /'method' is "best": expected "dp", "ilp" or "greedy"/],
    ["no time", { timeLimitS: 0 }, /'timeLimitS' is 0/],
  ];
  test.each(cases)("%s", async (_, wrong, message) => {
    const refused = solveKnapsack({ ...good, ...wrong } as Knapsack);
    await expect(refused).rejects.toThrow(RematError);
    await expect(refused).rejects.toThrow(message);
  });
});
