import { heldPeak } from "@remat/memory";
import { holdPlan } from "@remat/memory/sequence";
import { dailyRuns } from "@remat/testkit";
import { findPlanMismatch, readPlan, writePlan } from "@remat/trace";
import fc from "fast-check";
import { expect, test } from "vitest";
import { planningGraphOfTrace } from "../../src/graph/planning-graph-of-trace.js";
import { planOfTrace } from "../../src/plan/plan-of-trace.js";
import { rematerialize } from "../../src/rematerialize.js";
import { followPlan } from "./follow-plan.js";
import { buildTrace, randomTraces } from "./random-traces.js";

const plain = { kind: "plain", inside: 0, constant: 0, isResult: false, ms: 1 } as const;

test("a plan, read from its file, can be followed, and holds as much as it predicts", async () => {
  let recomputing = 0;
  await fc.assert(
    fc.asyncProperty(
      randomTraces,
      fc.constantFrom(1, 0.9, 0.75, 0.6),
      fc.boolean(),
      async (trace, share, isAnyPhase) => {
        // With backward ops running again, too, more orders are met.
        const graph = planningGraphOfTrace(
          trace,
          isAnyPhase ? { isReplayable: (op) => trace.opName(op) !== "random" } : {},
        );
        const plainPeak = (await rematerialize(graph, { budgetBytes: 1e9 })).plain.peakBytes;
        const schedule = await rematerialize(graph, {
          budgetBytes: share * plainPeak,
          iterations: 1500,
          boundTimeMs: 0,
        });
        const plan = readPlan(writePlan(planOfTrace(trace, graph, schedule)));
        expect(findPlanMismatch(plan, trace)).toBeUndefined();
        expect(followPlan(trace, plan)).toBe(plan.predicted.peakBytes);
        expect(holdPlan(trace, plan).peakBytes).toBe(plan.predicted.peakBytes);
        if (!isAnyPhase) expect(holdPlan(trace, plan, graph)).toEqual(holdPlan(trace, plan));
        expect(plan.predicted.peakBytes).toBe(schedule.peakBytes);
        expect(heldPeak(trace).peakBytes).toBeGreaterThanOrEqual(plan.predicted.plain.peakBytes);
        if (plan.steps.some(({ isRecomputed }) => isRecomputed)) recomputing++;
      },
    ),
    { numRuns: dailyRuns(300) },
  );
  expect(recomputing).toBeGreaterThan(20);
});

test("the input of an op that completes another storage in place is not overwritten before it is recomputed", async () => {
  const trace = buildTrace(
    [
      { ...plain, inputs: [], bytes: [1, 1] }, // op 0 makes a (tensor 2)
      { ...plain, inputs: [], bytes: [1, 1] }, // op 1 makes b (tensor 4)
      { ...plain, kind: "inPlace", inputs: [4, 2], bytes: [1] }, // op 2 adds a to b
      { ...plain, kind: "inPlace", inputs: [2], bytes: [1] }, // op 3 overwrites a
      { ...plain, inputs: [], bytes: [9] },
    ],
    [{ ...plain, inputs: [4], bytes: [1] }],
  );
  const graph = planningGraphOfTrace(trace);
  for (const budgetBytes of [8, 10, 12, 16]) {
    const plan = planOfTrace(trace, graph, await rematerialize(graph, { budgetBytes, iterations: 1500 }));
    expect(followPlan(trace, plan)).toBe(plan.predicted.peakBytes);
  }
});

test("a small step reads as a story", async () => {
  const trace = buildTrace(
    [
      { ...plain, inputs: [1, 0], bytes: [8] }, // op 0 makes a (tensor 2)
      { ...plain, inputs: [2], bytes: [1], constant: 2 }, // op 1 makes b of a and a constant
      { ...plain, inputs: [4], bytes: [9] }, // op 2 makes c of b
    ],
    [
      { ...plain, inputs: [5], bytes: [4] }, // op 3 makes dc
      { ...plain, inputs: [6, 2], bytes: [5], isResult: true }, // op 4 makes da of dc and a
    ],
  );
  const graph = planningGraphOfTrace(trace);
  const schedule = await rematerialize(graph, { budgetBytes: 24, iterations: 2000, boundTimeMs: 60_000 });
  const plan = planOfTrace(trace, graph, schedule);
  const { subject, predicted, sources, steps } = plan;
  expect({ subject, predicted, sources, steps }).toEqual({
    subject: {
      kind: "trace",
      name: "random",
      framework: "tfjs",
      device: "cpu",
      allocationUnitBytes: 1,
      fingerprint: plan.subject.fingerprint,
    },
    predicted: {
      peakBytes: 24,
      cost: 9,
      overhead: 0.2,
      lowerBound: 9,
      gap: 0,
      plain: { peakBytes: 28, cost: 7.5 },
      recordedPeakBytes: 36,
    },
    sources: [{ before: 1, ordinal: 0, bytes: 2 }],
    steps: [
      { op: 0, isRecomputed: false, free: [] },
      { op: 1, isRecomputed: false, free: [{ op: 0, output: 0 }, { source: 0 }] },
      { op: 2, isRecomputed: false, free: [{ op: 1, output: 0 }] },
      { op: 3, isRecomputed: false, free: [{ op: 2, output: 0 }] },
      { op: 0, isRecomputed: true, free: [] },
      {
        op: 4,
        isRecomputed: false,
        free: [
          { op: 0, output: 0 },
          { op: 3, output: 0 },
        ],
      },
    ],
  });
});
