import { CheckpointSimulator, callModes, checkpointableUnits, stepScript } from "@remat/memory/checkpointing";
import { atNight, sampledCases } from "@remat/testkit";
import { TraceBuilder } from "@remat/trace";
import { describe, expect, test } from "vitest";
import { moduleParts } from "../../src/executors/torch-checkpoint/module-parts.js";
import {
  planTorchCheckpoints,
  type TorchCheckpointsAnswer,
  type TorchCheckpointsOptions,
} from "../../src/executors/torch-checkpoint/plan-torch-checkpoints.js";
import { pricedStep, type RecordedCase, recordedCases } from "./recorded-steps.js";

/** No test is timed: the search ends by its rounds. */
const untimed = { timeMs: Number.POSITIVE_INFINITY, rounds: 6 };

const answers = new Map<string, TorchCheckpointsAnswer>();

/** Plans for a case, cached by share of its peak and other options, since several tests use them. */
function planned(
  recorded: RecordedCase,
  options: Omit<TorchCheckpointsOptions, "budget"> & { readonly share?: number } = {},
) {
  const { share, ...others } = options;
  const key = JSON.stringify([recorded.step.case, options]);
  let answer = answers.get(key);
  if (answer === undefined) {
    const budget = share === undefined ? {} : { budget: { fraction: share } };
    answer = planTorchCheckpoints(pricedStep(recorded), { ...untimed, ...others, ...budget });
    answers.set(key, answer);
  }
  return answer;
}

/** Each of these takes as long as all others together, so they run at night. */
const slow = new Set(["random 6", "random 16", "random 21"]);
const cases = recordedCases.filter(({ step }) => atNight || !slow.has(step.case));

describe.each(cases.slice(0, 8).map((one) => [one.step.case, one] as const))("model %s", (_, recorded) => {
  const trace = pricedStep(recorded);
  const script = stepScript(trace);
  const units = checkpointableUnits(script);
  const simulator = new CheckpointSimulator(script, units);
  const least = planned(recorded);

  test.each([0.9, 0.75, 0.6].flatMap((share) => [true, false].map((findsLeast) => [share, findsLeast] as const)))(
    "within %s, looking for what holds least %s: no worse than any policy that people write, and what it says is so",
    (share, findsLeast) => {
      const budgetBytes = least.plain.peakBytes * share;
      const { found, byHand } = planned(recorded, { share, ...(findsLeast ? {} : { findsLeast }) });
      const fitting = byHand.filter(({ peakBytes }) => peakBytes <= budgetBytes);
      if (found === undefined) return expect([least.least.peakBytes > budgetBytes, fitting]).toEqual([true, []]);
      expect(found.peakBytes).toBeLessThanOrEqual(budgetBytes);
      for (const { overhead } of fitting) expect(found.overhead).toBeLessThanOrEqual(overhead);
      const again = simulator.run(callModes(units, found.policy, trace.ops.count));
      expect(again).toMatchObject({ peakBytes: found.peakBytes, recomputeMs: found.recomputeMs });
      for (const { fqn } of found.policy) expect(units.refused.has(fqn)).toBe(false);
    },
  );

  test("holds at least as little as any policy of whole modules, of which 9 are tried in every combination", () => {
    // With more modules, evenly spaced ones: with all of 20, a million policies would have to run.
    const every = Math.max(1, units.fqns.length / 9);
    const fqns = units.fqns.filter((_fqn, i) => Math.floor(i / every) !== Math.floor((i - 1) / every));
    let smallest = Number.POSITIVE_INFINITY;
    for (let set = 0; set < 1 << fqns.length; set++) {
      const policy = fqns.filter((_fqn, i) => (set >> i) & 1).map((fqn) => ({ fqn, saved: [] }));
      smallest = Math.min(smallest, simulator.run(callModes(units, policy, trace.ops.count)).peakBytes);
    }
    expect(smallest).toBeLessThanOrEqual(least.plain.peakBytes);
    expect(least.least.peakBytes / smallest).toBeLessThanOrEqual(1.02);
  });

  test("finds the same each time", () => {
    const again = planTorchCheckpoints(trace, { ...untimed, budget: { fraction: 0.75 } });
    expect(again.found).toEqual(planned(recorded, { share: 0.75 }).found);
  });
});

describe.each(cases.slice(0, 8).map((one) => [one.step.case, one] as const))("parts of model %s", (_, recorded) => {
  const trace = pricedStep(recorded);
  const script = stepScript(trace);
  const units = checkpointableUnits(script);
  const alike = [...units.callsOf.keys()].map((fqn) => [fqn]);

  test("lie side by side in a module, and each can run again", () => {
    const cuts = moduleParts(script, units, alike);
    expect(cuts.length).toBeGreaterThan(0);
    for (const parts of cuts) {
      let end = 0;
      for (const { fqn, saved, ops } of parts) {
        expect([ops![0] >= end, ops![1] > ops![0], saved]).toEqual([true, true, []]);
        end = ops![1];
        for (const call of units.callsOf.get(fqn)!) {
          expect(end).toBeLessThanOrEqual(units.opsOf[call].length);
          expect(units.partOf(call, ...ops!)).toMatchObject({ call });
        }
      }
    }
  });

  test("are used where they are better than whole modules, and left out where that is asked for", () => {
    const whole = planned(recorded, { share: 0.75, units: "modules" });
    const parts = planned(recorded, { share: 0.75 });
    for (const { policy } of whole.tradeOffs) expect(policy.every(({ ops }) => ops === undefined)).toBe(true);
    expect(parts.least.peakBytes).toBeLessThanOrEqual(whole.least.peakBytes);
    if (whole.found !== undefined) expect(parts.found!.overhead).toBeLessThanOrEqual(whole.found.overhead);
  });

  test("have the same least at every budget", () => {
    const leasts = [0.9, 0.6].map((share) => planned(recorded, { share }).least);
    for (const { peakBytes } of leasts) expect(peakBytes).toBe(leasts[0].peakBytes);
  });
});

test("a trace that does not say what autograd gives back is refused", () => {
  const b = new TraceBuilder({
    framework: "pytorch",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "old",
  });
  b.op({ name: "aten.mm.default", phase: 1, flags: 0, stack: 0, inputs: [], outputs: [] });
  expect(() => planTorchCheckpoints(b.build())).toThrow(expect.objectContaining({ code: "TRACE_SAVES" }));
});

test("a step without a backward pass is refused, and one that checkpoints by itself", () => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  expect(() => planTorchCheckpoints(b.build())).toThrow(expect.objectContaining({ code: "TRACE_PHASE" }));
  for (const phase of [1, 3]) b.op({ name: "aten.mm.default", phase, flags: 0, stack: 0, inputs: [], outputs: [] });
  expect(() => planTorchCheckpoints(b.build())).toThrow(expect.objectContaining({ code: "TRACE_RECOMPUTES" }));
});

test.each(sampledCases(cases, 3).map((one) => [one.step.case, one] as const))(
  "%s: what cannot be kept to says as small a peak as is found without a budget",
  (_, recorded) => {
    const { least } = planned(recorded);
    const { found, least: within } = planTorchCheckpoints(pricedStep(recorded), { ...untimed, budget: { bytes: 1 } });
    expect(found).toBeUndefined();
    expect(within.peakBytes / least.peakBytes).toBeLessThanOrEqual(1.02);
  },
);
