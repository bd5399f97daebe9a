import { checkedShare } from "@remat/testkit/checked-share";
import { RematError } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InfeasibleBudgetError } from "../../src/infeasible-budget-error.js";
import { aggregateModuleStats, isInside, type ModuleStats } from "../../src/module-tree/module-stats.js";
import { planModules } from "../../src/module-tree/plan-modules.js";
import type { ModuleTreeOptions } from "../../src/module-tree/tree-options.js";
import { brokenTreeConstraint } from "../compare-ilp-golden.js";

const gibibyte = 2 ** 30;

/** `net` with blocks of two leaves and a nested pair; sizes as drawn, in MiB. */
function tree(sizes: readonly number[], slopes: readonly number[]): ModuleStats[] {
  const names = ["net.a.x", "net.a", "net.b.in.x", "net.b.in", "net.b", "net.c.x", "net.c", "net"];
  let held = 0;
  return names.map((fqn, i): ModuleStats => {
    const bytes = sizes[i] * 2 ** 20;
    const isLeaf = fqn.endsWith(".x");
    if (isLeaf) held += bytes;
    const [slope] = [slopes[i]];
    return {
      fqn,
      parameterBytes: fqn === "net" ? 64 * 2 ** 20 : 2 ** 20,
      gradientTotalBytes: (names.length - 1 - i) * 2 ** 20,
      activationBytes: isLeaf ? bytes : Math.min(bytes, held),
      activationTotalBytes: held,
      activationGradientBytes: sizes[(i * 3) % sizes.length] * 2 ** 18,
      ...(!isLeaf && {
        tradeOff: {
          sacMemoryBytes: bytes,
          sacRuntimeMs: 1 + i,
          slopes: [slope / 2, slope * 2],
          intercepts: [0, -slope * 0.75],
        },
      }),
    };
  });
}

const sizes = fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 8, maxLength: 8 });
const slopes = fc.array(fc.double({ min: 0.1, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 });

/** Every plan that frees some of 21 shares of each of some modules, none inside another. */
function* someShares(stats: readonly ModuleStats[], steps: number): Generator<Map<string, number>> {
  const units = stats.filter(
    (module) => module.tradeOff !== undefined && module.tradeOff.sacMemoryBytes + module.activationBytes > 0,
  );
  const chosen = new Map<string, number>();
  function* extend(from: number): Generator<Map<string, number>> {
    yield chosen;
    for (let u = from; u < units.length; u++) {
      const { fqn, tradeOff, activationBytes } = units[u];
      if ([...chosen.keys()].some((other) => isInside(other, fqn) || isInside(fqn, other))) continue;
      const all = Math.max(tradeOff?.sacMemoryBytes ?? 0, activationBytes);
      for (let step = 1; step <= steps; step++) {
        if ((step / steps) * all < all - activationBytes) continue;
        chosen.set(fqn, step / steps);
        yield* extend(u + 1);
        chosen.delete(fqn);
      }
    }
  }
  yield* extend(0);
}

/** Peak and recomputation of a plan, from the definitions. */
function measure(stats: readonly ModuleStats[], shares: ReadonlyMap<string, number>, worldSize: number) {
  let [freed, peakBytes, recomputationMs] = [0, 0, 0];
  const root = stats[stats.length - 1];
  for (const module of stats) {
    const sharded = (root.parameterBytes + module.gradientTotalBytes) / worldSize;
    peakBytes = Math.max(peakBytes, module.activationTotalBytes + module.activationGradientBytes + sharded - freed);
    const share = shares.get(module.fqn);
    if (share === undefined || module.tradeOff === undefined) continue;
    const { sacMemoryBytes, sacRuntimeMs, slopes: lines, intercepts } = module.tradeOff;
    const all = Math.max(sacMemoryBytes, module.activationBytes);
    freed += all * share - (all - module.activationBytes);
    recomputationMs += sacRuntimeMs * Math.max(0, ...lines.map((slope, s) => slope * share + intercepts[s]));
  }
  return { peakBytes, recomputationMs };
}

test("no plan on a grid of shares within the budget recomputes less, and none fits where ours says so", async () => {
  const given = checkedShare();
  await fc.assert(
    fc.asyncProperty(
      sizes,
      slopes,
      fc.double({ min: -0.4, max: 1, noNaN: true }),
      fc.constantFrom(1, 4),
      async (mebibytes, steep, share, worldSize) => {
        const stats = tree(mebibytes, steep);
        const plans = Array.from(someShares(stats, 5), (shares) => measure(stats, shares, worldSize));
        const smallest = Math.min(...plans.map(({ peakBytes }) => peakBytes));
        // From below the smallest peak to that without recomputation.
        const plainBytes = measure(stats, new Map(), worldSize).peakBytes;
        const budgetBytes = Math.round(smallest + share * (plainBytes - smallest));
        const within = plans.filter(({ peakBytes }) => peakBytes <= budgetBytes);
        const least = Math.min(...within.map(({ recomputationMs }) => recomputationMs));
        const plan = await planModules(stats, { budgetBytes, worldSize }).catch((error: unknown) => error);
        if (!given(smallest <= budgetBytes)) {
          expect(plan).toBeInstanceOf(InfeasibleBudgetError);
          expect(plan).toMatchObject({ code: "BUDGET_INFEASIBLE", smallestBudgetBytes: Math.ceil(smallest) });
          return;
        }
        if (plan instanceof Error) throw plan;
        const found = plan as Awaited<ReturnType<typeof planModules>>;
        expect(
          brokenTreeConstraint(stats, { memory_budget: budgetBytes / gibibyte, world_size: worldSize }, found),
        ).toBeUndefined();
        expect(found.recomputationMs).toBeLessThanOrEqual(least * (1 + 1e-6) + 1e-6);
        expect(found.gap).toBeLessThan(1e-6);
      },
    ),
    { seed: 20263, numRuns: 60 },
  );
});

const stats = tree([100, 100, 80, 80, 80, 120, 120, 200], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);

test("the smallest budget can be kept to, a byte less cannot", async () => {
  const error = await planModules(stats, { budgetBytes: 0 }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(InfeasibleBudgetError);
  const { smallestBudgetBytes, message } = error as InfeasibleBudgetError;
  expect(message).toMatch(/the backward pass of net\S* needs [\d.]+ \w+ .*more than the budget of 0 B/);
  const plan = await planModules(stats, { budgetBytes: smallestBudgetBytes });
  expect(plan.peakBytes).toBeLessThanOrEqual(smallestBudgetBytes);
  await expect(planModules(stats, { budgetBytes: smallestBudgetBytes - 1 })).rejects.toThrow(InfeasibleBudgetError);
});

test("enough budget checkpoints nothing", async () => {
  const { baselinePeakBytes } = await planModules(stats, { budgetBytes: gibibyte });
  expect(await planModules(stats, { budgetBytes: baselinePeakBytes })).toEqual({
    modules: [],
    budgetBytes: baselinePeakBytes,
    peakBytes: baselinePeakBytes,
    baselinePeakBytes,
    recomputationMs: 0,
    lowerBoundMs: 0,
    gap: 0,
  });
});

test("only allowed modules are checkpointed, none around an FSDP unit, and shards make room", async () => {
  const { baselinePeakBytes } = await planModules(stats, { budgetBytes: gibibyte });
  const options = { budgetBytes: baselinePeakBytes - 40 * 2 ** 20 };
  const names = async (more: Partial<ModuleTreeOptions>) =>
    (await planModules(stats, { ...options, ...more })).modules.map(({ fqn }) => fqn);
  expect(await names({ allowedUnits: ["net.a"] })).toEqual(["net.a"]);
  expect(await names({ allowedUnits: ["net.b", "net.b.in"], fsdpUnits: ["net.b.in"] })).toEqual(["net.b.in"]);
  expect(await names({ worldSize: 8 })).toEqual([]);
  await expect(planModules(stats, { ...options, allowedUnits: [] })).rejects.toThrow(InfeasibleBudgetError);
});

describe("refused, naming the module", () => {
  const change = (more: Partial<ModuleStats>): ModuleStats[] =>
    stats.map((module, i) => (i === 1 ? { ...module, ...more } : module));
  const tradeOff = { sacMemoryBytes: 1, sacRuntimeMs: 1, slopes: [1], intercepts: [0] };
  const cases: [string, readonly ModuleStats[], object, RegExp][] = [
    ["no modules", [], {}, /there are no modules/],
    [
      "NaN bytes",
      change({ activationBytes: Number.NaN }),
      {},
      /module net\.a: activationBytes is NaN, expected at least 0/,
    ],
    ["negative bytes", change({ parameterBytes: -1 }), {}, /module net\.a: parameterBytes is -1/],
    [
      "infinite gradients",
      change({ activationGradientBytes: Number.POSITIVE_INFINITY }),
      {},
      /module net\.a: activationGradientBytes is Infinity/,
    ],
    [
      "a NaN slope",
      change({ tradeOff: { ...tradeOff, slopes: [Number.NaN] } }),
      {},
      /module net\.a: its trade-off contains NaN/,
    ],
    [
      "an intercept too many",
      change({ tradeOff: { ...tradeOff, intercepts: [0, 1] } }),
      {},
      /module net\.a: it has 1 slopes and 2 intercepts/,
    ],
    [
      "negative runtime",
      change({ tradeOff: { ...tradeOff, sacRuntimeMs: -2 } }),
      {},
      /module net\.a: tradeOff\.sacRuntimeMs is -2/,
    ],
    ["a module twice", [...stats, stats[0]], {}, /module net\.a\.x is given twice/],
    [
      "an unknown unit",
      stats,
      { allowedUnits: ["net.z"] },
      /allowedUnits names net\.z: expected the name of one of the 8 modules/,
    ],
    ["an unknown FSDP unit", stats, { fsdpUnits: ["z"] }, /fsdpUnits names z/],
    ["budget as text", stats, { budgetBytes: "1GB" }, /budgetBytes is "1GB": expected a number of bytes from 0 up/],
    ["half a device", stats, { worldSize: 1.5 }, /worldSize is 1\.5: expected a whole number from 1 up/],
    ["a gap of everything", stats, { gap: 1 }, /gap is 1: expected a share/],
    ["no time", stats, { timeLimitS: 0 }, /timeLimitS is 0: expected seconds above 0/],
  ];
  test.each(cases)("%s", async (_, modules, options, message) => {
    const refused = planModules(modules, { budgetBytes: gibibyte, ...options } as ModuleTreeOptions);
    await expect(refused).rejects.toThrow(RematError);
    await expect(refused).rejects.toMatchObject({ code: "MODULE_TREE", message: expect.stringMatching(message) });
  });

  test("a module without a backward pass", () => {
    const snapshot = [[{ device: "cpu", totalBytes: 0, bytesByCategory: {} }]];
    const memory = [
      {
        fqn: "net",
        parameterBytes: 0,
        outputBytes: 0,
        snapshots: new Map([
          ["preForward", snapshot],
          ["postForward", snapshot],
        ]),
      },
    ];
    const sources = { memory, tradeOffs: new Map(), forwardPostOrder: ["net"], device: "cpu" };
    expect(() => aggregateModuleStats(sources)).toThrow(/module net: no snapshot of cpu in state preBackward/);
  });
});
