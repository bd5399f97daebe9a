import fc from "fast-check";
import { expect, test } from "vitest";
import { greedyOrder, opsTogether, sacStats } from "../src/index.js";
import { randomRun, traceOf } from "./random-run.js";
import { referenceOrder, referenceStats } from "./reference-estimator.js";

test("is that of an estimator with sets and a sort", () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      const reference = referenceStats(run);
      fc.pre(reference !== "skipped parent");
      const stats = sacStats(traceOf(run));
      for (const [fqn, moduleStats] of stats) {
        const expected = referenceOrder(reference.get(fqn) as NonNullable<ReturnType<typeof reference.get>>);
        const { mspsMeta, ...found } = greedyOrder(moduleStats);
        expect([...found.recomputedOps]).toEqual(expected.recomputed);
        expect([...found.storedOps]).toEqual(expected.stored);
        const candidates = Array.from(mspsMeta.opIdx, (op, i) => ({
          op,
          memory: mspsMeta.memoryBytes[i],
          runtime: mspsMeta.runtimeMs[i],
          msps: mspsMeta.msps[i],
        }));
        expect(candidates).toEqual(expected.candidates);
      }
    }),
    { numRuns: 600 },
  );
});

test("leaves no op out, and gives back all memory and all time in the end", () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      for (const stats of sacStats(traceOf(run)).values()) {
        const order = greedyOrder(stats);
        const heads = [...order.recomputedOps, ...order.mspsMeta.opIdx, ...order.storedOps];
        const ops = new Set(heads.flatMap((op) => [...opsTogether(order, op)]));
        expect([...ops].sort((a, b) => a - b)).toEqual([...stats.ops.keys()]);
      }
    }),
  );
});

test("groups hold their heads and come in ascending order", () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      for (const stats of sacStats(traceOf(run)).values()) {
        const { inplaceOpGroups: groups } = greedyOrder(stats);
        for (const [head, ops] of groups) {
          expect(ops[0]).toBe(head);
          expect([...ops]).toEqual([...new Set(ops)].sort((a, b) => a - b));
          expect(groups.get(head)).toEqual(ops);
        }
        expect([...groups.heads]).toEqual([...new Set(stats.inplaceParents)].sort((a, b) => a - b));
        for (let op = -1; op <= stats.ops.length; op++)
          expect(groups.get(op) !== undefined).toBe(groups.heads.includes(op));
      }
    }),
  );
});
