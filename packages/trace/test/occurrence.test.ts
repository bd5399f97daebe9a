import fc from "fast-check";
import { expect, test } from "vitest";
import {
  fingerprintOfOps,
  formatOccurrence,
  type Occurrence,
  opOccurrences,
  Phase,
  type Plan,
  phaseNames,
  readPlan,
  TraceBuilder,
  writePlan,
} from "../src/index.js";
import { nameArbitrary } from "./arbitrary-trace.js";

/** Names that have the look of what stands around them in text, or of another direction of writing. */
const name = fc.oneof(
  nameArbitrary,
  fc.constantFrom("-", "a b", "a[0]", "Relu 0: float32[2]", "forward", '"a"', "\u202eabc", "מודל", "a\tb", " ", "0"),
);

const occurrence: fc.Arbitrary<Occurrence> = fc.record({
  module: fc.option(name, { nil: undefined }),
  call: fc.nat(3),
  phase: fc.constantFrom(...phaseNames),
  kernel: name,
  ordinal: fc.nat(3),
  outputs: fc.array(fc.record({ dtype: name, shape: fc.array(fc.nat(20), { maxLength: 3 }) }), { maxLength: 3 }),
});

function planOf(ops: readonly Occurrence[]): Plan {
  return {
    subject: { kind: "trace", name: "net", fingerprint: fingerprintOfOps(ops) },
    origin: { method: "annealing", budgetBytes: 100, order: "fixed" },
    predicted: { peakBytes: 96, cost: 9, overhead: 0, lowerBound: 9, gap: 0, plain: { peakBytes: 128, cost: 8 } },
    ops,
    sources: [],
    steps: ops.map((_, op) => ({ op, isRecomputed: false, free: [] })),
  };
}

test("a plan keeps every field, whatever the names", () => {
  fc.assert(
    fc.property(fc.array(occurrence, { maxLength: 8 }), (ops) => {
      const plan = planOf(ops);
      expect(readPlan(writePlan(plan))).toEqual(plan);
      expect(writePlan(readPlan(writePlan(plan)))).toBe(writePlan(plan));
    }),
  );
});

/** Different where any field is: JSON has them all. */
function isSame(a: Occurrence, b: Occurrence): boolean {
  const outside = (op: Occurrence) => ({ ...op, ...(op.module === undefined && { call: 0 }) });
  return JSON.stringify(outside(a)) === JSON.stringify(outside(b));
}

/** Two occurrences that differ in one field, or in none. */
const pair = fc
  .tuple(occurrence, occurrence, fc.constantFrom("module", "call", "phase", "kernel", "ordinal", "outputs"))
  .map(([a, b, field]) => [a, { ...a, [field]: b[field as keyof Occurrence] }] as const);

test("text and fingerprint differ where a field does, and only there", () => {
  fc.assert(
    fc.property(pair, ([a, b]) => {
      expect(formatOccurrence(a) === formatOccurrence(b)).toBe(isSame(a, b));
      if (a.module !== undefined) expect(fingerprintOfOps([a]) === fingerprintOfOps([b])).toBe(isSame(a, b));
    }),
    { numRuns: 1000 },
  );
  fc.assert(
    fc.property(fc.array(occurrence, { maxLength: 3 }), fc.array(occurrence, { maxLength: 3 }), (some, others) => {
      const isEqual = JSON.stringify(some) === JSON.stringify(others);
      expect(fingerprintOfOps(some) === fingerprintOfOps(others)).toBe(isEqual);
    }),
  );
});

const moduleName = name.filter((text) => text !== "");

test("ordinals count within module call, phase and kernel, whatever the names", () => {
  fc.assert(
    fc.property(
      fc.array(moduleName, { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.nat(99)),
      (names, stream) => {
        const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
        // Modules of one name are one place.
        const modules = names.map((fqn) => b.module({ fqn, kind: "Block", leaf: true }));
        const stacks = [0, ...modules.map((module) => b.stackOfCall(b.call(module, -1, true)))];
        const pick = <T>(items: readonly T[]): T => items[(stream.next().value as number) % items.length];
        for (let i = 0; i < 12; i++)
          b.op({ name: pick(names), stack: pick(stacks), phase: pick([Phase.forward, Phase.backward]) });
        const found = opOccurrences(b.build());
        found.forEach(({ ordinal, ...op }, i) => {
          const before = found.slice(0, i).map(({ ordinal: _, ...other }) => JSON.stringify(other));
          expect(ordinal).toBe(before.filter((other) => other === JSON.stringify(op)).length);
        });
      },
    ),
  );
});
