import { heldPeak, tellsLifetimes } from "@remat/memory";
import { holdPlan, unrecomputedPeakBytes } from "@remat/memory/sequence";
import { planOfTrace, rematerialize } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import type { Trace } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { actions, traceOf } from "../../../memory/test/tracker/random-trace.js";
import { randomTraces } from "../../../planner/test/plan/random-traces.js";
import { deviceToFit, factLines, judgeMemory, judgeStep, type WayToFit } from "../../src/verdict/index.js";

const GiB = 2 ** 30;
const a100 = deviceSpec("a100");

function goldenTrace(name: string): Trace {
  return priceTrace(readPyTorchTrace(readGolden(goldenFiles().find((file) => file.name === name)!)), a100);
}

const adam = goldenTrace("mem_02_transformer_adam");
const { peakBytes } = heldPeak(adam);

describe("a verdict", () => {
  it("says peak, device, what of it is what, and what to type, of what fits", () => {
    const verdict = judgeMemory(adam, { device: a100, commandFor: ({ kind }) => `remat ${kind}` })!;
    expect(verdict.sentence).toMatch(
      /^Fits: peak memory is [\d.]+ of 80 GiB \(A100\)\. Mostly \w[\w ]* \(\d+%\) and \w[\w ]* \(\d+%\)\. To trade time for memory: remat explore$/,
    );
    expect(verdict).toMatchObject({
      peakBytes,
      fits: true,
      spareBytes: 80 * GiB - peakBytes,
      command: "remat explore",
    });
    expect(verdict.categories.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(peakBytes);
  });

  it("fits to the byte, and not with one byte less", () => {
    const judge = (memoryBytes: number) => judgeMemory(adam, { device: { name: "d", memoryBytes } })!;
    expect(judge(peakBytes)).toMatchObject({ fits: true, spareBytes: 0 });
    expect(judge(peakBytes - 1)).toMatchObject({ fits: false, spareBytes: -1 });
    expect(judge(peakBytes - 1).sentence).toMatch(
      /^Does not fit: peak memory is [\d.]+ of [\d.]+ GiB \(d\), 1 B too much\. /,
    );
  });

  it("says that nobody knows the device's memory rather than that the step fits", () => {
    const verdict = judgeMemory(adam, { device: { name: "abacus" } })!;
    expect(verdict).toMatchObject({ fits: undefined, spareBytes: undefined });
    expect(verdict.sentence).toMatch(/^Peak memory is [\d.]+ GiB \(memory of abacus unknown\)\. /);
  });

  it("names a device that nobody chose as the default, and how to choose another", () => {
    const { sentence, headline } = judgeMemory(adam, { device: deviceToFit(adam, a100, false) })!;
    expect(sentence).toMatch(
      /^Fits: peak memory is [\d.]+ of 80 GiB \(A100, the default; --device here for this machine\)\. /,
    );
    expect(headline).toMatch(/^Fits: peak memory is [\d.]+ of 80 GiB \(A100, the default\)$/);
    expect(judgeMemory(adam, { device: deviceToFit(adam, a100, true) })!.sentence).toContain(" (A100). ");
  });

  it("says what is enough with no slowdown, and what to type for it", () => {
    const memory = { ...heldPeak(adam), unrecomputedPeakBytes: GiB };
    const judge = (commandFor?: () => string) => judgeStep(memory, { device: a100, ...(commandFor && { commandFor }) });
    const { facts, command } = judge(() => "remat run net.js --budget 1GiB");
    expect(facts.slice(-2)).toEqual(["1 GiB is enough with no slowdown:", command]);
    expect(factLines({ facts, command }).at(-1)).toBe(
      "1 GiB is enough with no slowdown:  remat run net.js --budget 1GiB",
    );
    expect(factLines({ facts, command }, 40).slice(-2)).toEqual([
      "1 GiB is enough with no slowdown:",
      "  remat run net.js --budget 1GiB",
    ]);
    expect(judge().facts.at(-1)).toBe("1 GiB is enough with no slowdown.");
  });

  it("names the ways to fit, and what to type for the first", () => {
    const ways: readonly WayToFit[] = [
      { kind: "plan", peakBytes: 3 * GiB, overhead: 0.031 },
      { kind: "batch", peakBytes: 2 * GiB, batch: 16 },
      { kind: "sharding", peakBytes: GiB, worldSize: 4, wrap: [] },
      { kind: "device", peakBytes, device: "h200", memoryBytes: 141 * GiB },
    ];
    const device = { name: "small", memoryBytes: 1000 };
    const { facts, command } = judgeMemory(adam, { device, ways, commandFor: ({ kind }) => `remat ${kind}` })!;
    expect(command).toBe("remat plan");
    expect(facts.slice(-2)).toEqual([
      "It fits with a plan (3 GiB, 3.10% more time), or with batch 16 (2 GiB), or with FSDP over 4 ranks (1 GiB each), or on H200 (141 GiB):",
      "remat plan",
    ]);
  });

  it("says of what nothing makes fit what no plan can help, and names nothing to type", () => {
    const device = { name: "small", memoryBytes: 1000 };
    const commandFor = () => "remat plan";
    const none = judgeMemory(adam, { device, ways: [], commandFor })!;
    expect(none.sentence).toMatch(/ Nothing remat tried makes it fit\.$/);
    expect(none.command).toBeUndefined();
    const least = { bytes: 3 * GiB, ranks: { worldSize: 1024, bytes: 2 * GiB } };
    expect(judgeMemory(adam, { device, ways: [], least, commandFor })!.sentence).toMatch(
      / Nothing remat tried makes it fit\. No plan needs less than 3 GiB, or 2 GiB on each of 1024 ranks\.$/,
    );
    expect(judgeMemory(adam, { device: a100, least })!.least).toBeUndefined();
  });

  it("says what was planned or measured in place of what could be", () => {
    const outcome = { name: "planned", peakBytes: 1000, overhead: 0.05 };
    expect(judgeMemory(adam, { device: a100, outcome })!.sentence).toMatch(
      / Planned: 1000 B \(0\.0%\), 5\.00% more time\.$/,
    );
    const device = { name: "small", memoryBytes: 2000 };
    expect(judgeMemory(adam, { device, outcome })!.sentence).toMatch(/more time\. This fits\.$/);
    expect(judgeMemory(adam, { device: { ...device, memoryBytes: 10 }, outcome })!.sentence).toMatch(
      /more time\. This does not fit either\.$/,
    );
  });

  it("never says of a trace that breaks off that it fits, nor what would be better", () => {
    const truncated = { line: 12, reason: "the file ends" };
    const judge = (memoryBytes: number | undefined) =>
      judgeStep(
        { ...heldPeak(adam), unrecomputedPeakBytes: 1, truncated },
        {
          device: { name: "d", ...(memoryBytes !== undefined && { memoryBytes }) },
          commandFor: ({ kind }) => `remat ${kind}`,
        },
      );
    expect(judge(80 * GiB)).toMatchObject({ fits: undefined, spareBytes: undefined, command: undefined });
    expect(judge(80 * GiB).sentence).toMatch(
      /^Damaged after line 12, peak memory is at least [\d.]+ of 80 GiB \(d\)\. Mostly \w[\w ]* \(\d+%\) and \w[\w ]* \(\d+%\)\.$/,
    );
    expect(judge(undefined).sentence).toMatch(
      /^Damaged after line 12, peak memory is at least [\d.]+ GiB \(memory of d unknown\)\./,
    );
    expect(judge(1000)).toMatchObject({ fits: false, spareBytes: 1000 - peakBytes });
    expect(judge(1000).sentence).toMatch(
      /^Does not fit: damaged after line 12, peak memory is at least [\d.]+ GiB of 1000 B \(d\), [\d.]+ GiB too much\. /,
    );
  });

  it("is none of a run that says nothing about lifetimes", () => {
    expect(judgeMemory(goldenTrace("sac_03_mlp"), { device: a100 })).toBeUndefined();
  });
});

it("has the peak of the account of memory, for any run", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(actions, (steps) => {
      const trace = traceOf(steps);
      if (given(tellsLifetimes(trace)))
        expect(judgeMemory(trace, { device: a100 })!.peakBytes).toBe(heldPeak(trace).peakBytes);
    }),
  );
});

it("knows the peak of a plan without recomputation", async () => {
  await fc.assert(
    fc.asyncProperty(randomTraces, async (trace) => {
      const graph = planningGraphOfTrace(trace);
      const budgetBytes = Math.max(1, heldPeak(trace).peakBytes);
      const early = planOfTrace(
        trace,
        graph,
        await rematerialize(graph, { budgetBytes, iterations: 0, boundTimeMs: 0 }),
      );
      expect(unrecomputedPeakBytes(trace)).toBe(holdPlan(trace, early).peakBytes);
    }),
    { numRuns: 60 },
  );
});
