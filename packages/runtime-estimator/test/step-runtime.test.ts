import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Phase, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countSteps, msOfTimes, stepMs, stepTimes } from "../src/index.js";

function traceOf(phases: readonly number[], runtimeMs?: number): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  for (const phase of phases) b.op({ name: "Relu", phase, ...(runtimeMs !== undefined && { runtimeMs }) });
  return b.build();
}

const { forward, backward, optimizer, recompute } = Phase;

describe("countSteps", () => {
  it.each([
    ["nothing", [], 0],
    ["a forward pass", [forward, forward], 1],
    ["a step without update", [forward, backward], 1],
    ["two of them", [forward, backward, forward, forward, backward], 2],
    ["two with an update", [forward, backward, optimizer, optimizer, forward, backward, optimizer], 2],
    ["gradients of two batches, then one update", [forward, backward, forward, backward, optimizer], 1],
    ["what comes after the update", [forward, backward, optimizer, forward], 1],
    ["recomputation", [forward, backward, recompute, backward, optimizer], 1],
  ])("of %s", (_, phases, steps) => {
    expect(countSteps(traceOf(phases))).toBe(steps);
  });

  it("counts consecutive steps of any length", () => {
    const counts = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(fc.array(fc.tuple(counts, counts, counts), { minLength: 1, maxLength: 6 }), (steps) => {
        const phases = steps.flatMap(([f, b, o]) => [
          ...Array<number>(f).fill(forward),
          ...Array<number>(b).fill(backward),
          ...Array<number>(o).fill(optimizer),
        ]);
        expect(countSteps(traceOf(phases))).toBe(steps.length);
      }),
    );
  });

  it("counts the steps of PyTorch's recorded runs", () => {
    const files = goldenFiles().filter(({ name }) => /^mem_/.test(name));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const golden = readGolden(file) as unknown as { readonly iterations: number };
      // After the last update come ops of the profiler, in no phase of their own.
      expect([file.name, countSteps(readPyTorchTrace(golden))]).toEqual([file.name, golden.iterations]);
    }
  });
});

it("times are of passes and of the update apart, and of the step in all", () => {
  const trace = traceOf([forward, forward, backward, recompute, backward, optimizer, Phase.outside], 2);
  expect(stepTimes(trace)).toEqual({ forwardMs: 4, backwardMs: 6, optimizerMs: 2 });
  expect(msOfTimes(stepTimes(trace))).toBe(12);
  expect(stepTimes(traceOf([forward]))).toEqual({ forwardMs: 0, backwardMs: 0, optimizerMs: 0 });
});

describe("stepMs", () => {
  it("adds up ops, what is recomputed, and what is around them", () => {
    const trace = traceOf([forward, backward], 2);
    const plan = { steps: [0, 1, 0].map((op, i) => ({ op, isRecomputed: i === 2, free: [] })) };
    expect([stepMs(trace), stepMs(trace, { hostMs: 1 }), stepMs(trace, { hostMs: 1, plan })]).toEqual([4, 5, 7]);
    expect(stepMs(traceOf([forward]))).toBe(0);
  });
});
