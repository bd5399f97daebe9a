import { heldPeak } from "@remat/memory";
import { holdPlan } from "@remat/memory/sequence";
import { planOfCheckpoints, planOfTrace, rematerialize } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { greedyOrder, opsTogether, sacStats } from "@remat/sac-core";
import { goldenFiles, readGolden } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import {
  graphPlanDocument,
  type InfeasibleBudget,
  infeasibleDocument,
  type PlanFront,
  planDocument,
} from "../../src/documents/index.js";
import { outputFormats, writeDocument } from "../../src/formats/index.js";
import { summarizePlan } from "../../src/index.js";

const formats = outputFormats.map(({ name }) => name);

const golden = goldenFiles().find(({ name }) => name === "mem_tf_b2_adam")!;
const trace = priceTrace(readPyTorchTrace(readGolden(golden)), deviceSpec("a100"));
const graph = planningGraphOfTrace(trace);
const nothing = await rematerialize(graph, { budgetBytes: 1e12, iterations: 0, boundTimeMs: 0 });
const unrecomputed = planOfTrace(trace, graph, nothing);
/** The first ten steps of the greedy order of each block. */
const policies = [0, 1, 2, 3].map((i) => {
  const fqn = `Transformer.layers.${i}`;
  const order = greedyOrder(sacStats(trace).get(fqn)!);
  const given = Array.from(order.mspsMeta.opIdx.subarray(0, 10)).flatMap((op) => [...opsTogether(order, op)]);
  return { fqn, recomputedOps: [...order.recomputedOps, ...given] };
});
const plan = planOfCheckpoints(trace, graph, policies, { budgetBytes: 8e8, method: "greedy" });
const summary = summarizePlan(plan, trace, { unrecomputed, pricedFor: "a100", limit: 5 });

describe("summarizePlan", () => {
  it("holds at the peak what the plans predict, split by category without rest", () => {
    const [stock, early, planned] = summary.points;
    expect(early.peakBytes).toBe(unrecomputed.predicted.peakBytes);
    expect(planned.peakBytes).toBe(plan.predicted.peakBytes);
    expect(stock.peakBytes).toBe(plan.predicted.recordedPeakBytes);
    expect(heldPeak(trace)).toMatchObject({ peakBytes: stock.peakBytes });
    for (const { bytesByCategory, peakBytes } of summary.points)
      expect(Object.values(bytesByCategory).reduce((sum, bytes) => sum + bytes, 0)).toBe(peakBytes);
    expect(stock.peakBytes).toBeGreaterThan(early.peakBytes);
    expect(early.peakBytes).toBeGreaterThan(planned.peakBytes);
  });

  it("accounts for every op that is recomputed, by module and by kernel", () => {
    const again = plan.steps.filter(({ isRecomputed }) => isRecomputed);
    expect(summary.recomputed.runs).toBe(again.length);
    for (const groups of [summary.byModule, summary.byKernel])
      for (const quantity of ["runs", "ms", "bytes"] as const)
        expect(groups.reduce((sum, group) => sum + group[quantity], 0)).toBeCloseTo(summary.recomputed[quantity], 9);
    expect(summary.recomputed.ms).toBeCloseTo(plan.predicted.cost - plan.predicted.plain.cost, 9);
    expect(summary.byModule.map(({ name }) => name).sort()).toEqual(policies.map(({ fqn }) => fqn));
    expect(summary.freedCount).toBe(holdPlan(trace, plan).recomputed.length);
  });

  it("lists what is freed with the op that it is recomputed for", () => {
    for (const { op, freedAfterOp, neededByOp, bytes } of summary.freed) {
      expect(freedAfterOp).toBeGreaterThanOrEqual(op);
      expect(neededByOp).toBeGreaterThan(freedAfterOp);
      expect(bytes).toBeGreaterThan(0);
    }
  });

  it("refuses the plan of another trace, naming the first op that differs", () => {
    const elsewhere = {
      phase: "forward",
      kernel: "Tanh",
      module: "else where",
      call: 0,
      ordinal: 0,
      outputs: [],
    } as const;
    const other = { ...plan, ops: plan.ops.with(3, elsewhere) };
    expect(() => summarizePlan(other, trace, { unrecomputed })).toThrow(
      'the plan is for another trace: op 3 is planned as "else where"[0] forward Tanh 0:, found',
    );
  });
});

const point = (budgetBytes: number, overhead: number) => ({
  budgetBytes,
  peakBytes: budgetBytes - 512,
  cost: 10 * (1 + overhead),
  overhead,
  lowerBound: 10,
  gap: overhead / (1 + overhead),
});
const front: PlanFront = {
  points: [point(9e8, 0), point(8e8, 0.0016), point(7e8, 0.25)],
  recommended: { noCost: point(9e8, 0), within5Percent: point(8e8, 0.0016), within20Percent: point(8e8, 0.0016) },
};

describe("planDocument", () => {
  it.each(formats)("writes %s", (format) => {
    const text = writeDocument(planDocument(summary, { notes: ["a note"] }), format);
    // A moment's duration is not the same twice.
    expect(text).toMatchSnapshot();
  });

  it("shows a front, and sections of a method's own", () => {
    const sections = [
      { title: "Modules", name: "modules", headers: ["Module"], rows: [["a"]], remark: "That is all.", data: ["a"] },
    ];
    expect(writeDocument(planDocument(summary, { front, sections }), "plain")).toMatchSnapshot("plain");
    expect(writeDocument(planDocument(summary, { front }), "csv")).toMatchSnapshot("csv");
    expect(JSON.parse(writeDocument(planDocument(summary, { front, sections }), "json"))).toMatchObject({
      front: front.points,
      recommended: front.recommended,
      modules: ["a"],
    });
  });

  it.each([
    [3, 1, "25.0%"],
    [0.3, 0.1, "25.0%"],
    [0, 0, "0.0%"],
  ])("shows shares of the recomputed time: of %s and %s ms %s is the second", (one, other, share) => {
    const group = (name: string, ms: number) => ({ name, runs: 1, ms, bytes: 4 });
    const made = { recomputed: group("all", one + other), byModule: [group("one", one), group("other", other)] };
    const parts = planDocument({ ...summary, ...made }).parts();
    const table = parts.find((part) => part.kind === "table" && part.title === "Recomputed by module");
    if (table?.kind !== "table") throw new Error("expected a table of modules");
    expect(table.rows.map(([name, , , of]) => [name, of])[1]).toEqual(["other", share]);
  });

  it.each([
    [0, true],
    [-1, false],
  ])("is feasible if the peak is at most the budget: one of the peak and %s B: %s", (more, feasible) => {
    const { peakBytes } = summary.points.find(({ name }) => name === "planned")!;
    const within = { ...summary, plan: { ...plan, origin: { ...plan.origin, budgetBytes: peakBytes + more } } };
    expect(planDocument(within).value()).toMatchObject({ feasible });
    expect(planDocument(within, { isByPeak: false }).value()).not.toHaveProperty("feasible");
  });

  it("tells of a trace and a plan what they have, and nothing of what they have not", () => {
    const linesOf = (change: object, origin: object = {}) => {
      const header = { ...trace.header, model: undefined, frameworkVersion: undefined, backend: undefined, ...change };
      const other = {
        ...summary,
        trace: Object.assign(Object.create(trace), { header }),
        plan: { ...plan, origin: { ...plan.origin, ...origin } },
      };
      const [text] = planDocument({ ...other, pricedFor: undefined }).parts();
      return text.kind === "text" ? text.lines : [];
    };
    const { framework, mode, device } = trace.header;
    const priced = `estimated for ${device} (roofline, not calibrated); ${trace.ops.count} ops`;
    expect(linesOf({})[0]).toBe(`model: ${framework}, ${mode}, ${priced}`);
    expect(linesOf({ model: "net", frameworkVersion: "4.22.0", backend: "wasm" })[0]).toBe(
      `net: ${framework} 4.22.0, ${mode} wasm backend, ${priced}`,
    );
    expect(linesOf({}, { method: "m" })[1]).toMatch(/, method m; /);
    expect(linesOf({}, { method: "m", iterations: 0, seed: 0 })[1]).toMatch(/, method m, 0 iterations, seed 0; /);
  });

  it("says so where nothing is recomputed", () => {
    const idle = summarizePlan(unrecomputed, trace, { unrecomputed });
    const offloaded = { tensors: 1, bytes: 4, reloadedBytes: 4, hostPeakBytes: 4, transferMs: 1 };
    const textOf = (given: typeof summary) => writeDocument(planDocument(given), "plain").replace(/\s+/g, " ");
    const nothing = "Nothing is recomputed. Freeing each storage after its last use";
    expect(textOf(idle)).toContain(`${nothing} is enough.`);
    expect(textOf({ ...idle, offloaded })).toContain(`${nothing} and offloading are enough.`);
  });

  it("leaves out indices of ops first in a narrow table of what is freed, and sizes and modules last", () => {
    const table = planDocument(summary)
      .parts()
      .find((part) => part.kind === "table" && part.headers.includes("Allocated by"));
    if (table?.kind !== "table") throw new Error("expected a table of storages");
    const { headers, worth = [] } = table;
    expect(worth.toSorted((a, b) => a - b)).toEqual(headers.map((_, i) => 1 + i));
    expect(headers.toSorted((a, b) => worth[headers.indexOf(a)] - worth[headers.indexOf(b)])).toEqual([
      ...["Freed after op", "Recomputed for op", "Op", "Shape", "Times", "Time", "Allocated by", "Module", "Size"],
    ]);
  });
});

describe("graphPlanDocument", () => {
  const graphPlan = {
    name: "chain",
    nodes: ["f1", "f2", "b2", "b1"].map((name, v) => ({ name, bytes: 1000, cost: v + 0.25 })),
    edgeCount: 4,
    inOrder: { peakBytes: 4000, cost: 7 },
    budgetBytes: 3000,
    order: "fixed" as const,
    sequence: [0, 1, 2, 0, 3],
    peakBytes: 3000,
    cost: 7.25,
    overhead: 0.25 / 7,
    lowerBound: 7.25,
    gap: 0,
    iterations: 100,
    seed: 0,
  };

  it.each(formats)("writes %s", (format) => {
    expect(writeDocument(graphPlanDocument(graphPlan, { notes: ["a note"] }), format)).toMatchSnapshot();
  });

  it("shows a front", () => {
    const [all, less] = [point(4000, 0), point(3000, 0.25)];
    const recommended = { noCost: all, within5Percent: all, within20Percent: all };
    expect(
      writeDocument(graphPlanDocument({ ...graphPlan, front: { points: [all, less], recommended } }), "md"),
    ).toMatchSnapshot();
  });
});

describe("infeasibleDocument", () => {
  const infeasible: InfeasibleBudget = {
    name: "net",
    budgetBytes: 1e6,
    isProven: true,
    lowerBoundBytes: 2e6,
    smallestFoundBytes: 2.5e6,
    occurrence: "net.a[0] backward Conv2DBackpropFilter 0: float32[3,3,64,64]",
    inputs: Array.from({ length: 12 }, (_, i) => ({ name: `input ${i} ${"x".repeat(12 * i)}`, bytes: 1000 - i })),
    outputs: [{ name: "net.a[0] backward Conv2DBackpropFilter 0", bytes: 147_456 }],
    heldBytes: 1_840_678,
    waitingBytes: 0,
  };

  it.each(formats)("writes %s", (format) => {
    expect(writeDocument(infeasibleDocument(infeasible), format)).toMatchSnapshot();
  });
});
