import { memoryTimeline } from "@remat/memory";
import { accountSequence, holdPlan, sequenceOfPlan } from "@remat/memory/sequence";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { planCheckpointing } from "../../src/checkpointing/plan-checkpointing.js";
import { planningGraphOfTrace } from "../../src/graph/planning-graph-of-trace.js";
import { trainingTrace } from "../training-trace.js";

function golden(name: string): Trace {
  const file = goldenFiles().find((each) => each.name === name);
  return priceTrace(readPyTorchTrace(readGolden(file!)), deviceSpec("a100"));
}

describe.each([
  ["layers", () => trainingTrace(6)],
  ["a perceptron", () => golden("mem_03_mlp_adam")],
  ["a transformer", () => golden("mem_02_transformer_adam")],
] as const)("what a sequence holds, of %s", (_name, make) => {
  const trace = make();
  const graph = planningGraphOfTrace(trace);

  it("is what its plan holds, and adds up at every op", async () => {
    const { front } = await planCheckpointing(trace, { budgetFraction: 1, paretoPoints: 5, iterations: 1000 });
    let again = 0;
    for (const { plan } of front) {
      const { nodes } = sequenceOfPlan(plan, graph);
      const account = accountSequence(graph, nodes)!;
      const held = holdPlan(trace, plan);
      expect(account.peakBytes).toBe(held.peakBytes);
      expect(account.peakOp).toBe(held.peakOp);
      expect(account.highestBytes).toEqual(held.highestBytes);
      const atPeak = account.heldAt(-1);
      expect(atPeak.totalBytes).toBe(held.peakBytes);
      expect(atPeak.bytesByCategory).toEqual(held.bytesByCategory);
      const times = new Map<number, number>();
      for (const { op, isRecomputed } of plan.steps) if (isRecomputed) times.set(op, (times.get(op) ?? 0) + 1);
      again += times.size;
      expect(Array.from(account.recomputations)).toEqual(
        Array.from(account.recomputations, (_, op) => times.get(op) ?? 0),
      );
      for (let op = 0; op < trace.ops.count; op += 17) {
        const { totalBytes, bytesByCategory, count, bytes } = account.heldAt(op);
        expect(totalBytes).toBe(account.totalBytes[op]);
        expect(bytes.reduce((sum, size) => sum + size, 0)).toBe(totalBytes);
        expect(bytes).toHaveLength(count);
        const told = [...account.bytesByCategory].flatMap(([name, column]) =>
          column[op] > 0 ? [[name, column[op]]] : [],
        );
        expect(Object.fromEntries(told)).toEqual(bytesByCategory);
      }
    }
    expect(again).toBeGreaterThan(0);
  });

  it("is at most what the trace held, where nothing runs again and all is freed after its last use", () => {
    const plain = Int32Array.from({ length: graph.nodeCount }, (_, node) => node);
    const { totalBytes, recomputations } = accountSequence(graph, plain)!;
    const recorded = memoryTimeline(trace).totalBytes;
    expect(Array.from(totalBytes.keys()).filter((op) => totalBytes[op] > recorded[op])).toEqual([]);
    expect(recomputations.every((times) => times === 0)).toBe(true);
  });
});

it("is nothing where a step reads what none before it has made", () => {
  const graph = planningGraphOfTrace(trainingTrace(2));
  expect(accountSequence(graph, Int32Array.of(graph.nodeCount - 1))).toBeUndefined();
});
