import { heldPeak, memoryTimeline } from "@remat/memory";
import { CheckpointedSteps } from "@remat/memory/checkpointing";
import { accountSequence, holdPlan, sequenceGraphOfTrace } from "@remat/memory/sequence";
import { planCheckpointing, planOfTrace, rematerialize } from "@remat/planner";
import { planTorchCheckpoints } from "@remat/planner/executors";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { chooseWithin, formatBytes } from "@remat/reporting";
import { deviceSpec } from "@remat/runtime-estimator";
import { parseShardingPlan } from "@remat/sharding";
import { findPlanMismatch, Phase, readPlan, writePlan } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { makeReport, planAsTrace } from "../src/index.js";
import { goldenTrace, savesTrace, stepTrace } from "./traces.js";

const runs = {
  step: stepTrace({ layers: 6 }),
  adam: goldenTrace("mem_03_mlp_adam"),
  cnn: goldenTrace("mem_04_cnn_adam"),
};

describe.each(Object.keys(runs) as (keyof typeof runs)[])("a plan for %s", (name) => {
  const trace = runs[name];
  const graph = planningGraphOfTrace(trace);

  it("holds at its highest what the planner predicted, at every budget", async () => {
    const { front } = await planCheckpointing(trace, { budgetFraction: 1, paretoPoints: 5, iterations: 6000 });
    expect(front.length).toBeGreaterThan(1);
    for (const { plan, peakBytes } of front) {
      const held = holdPlan(trace, plan).highestBytes;
      expect(held).toHaveLength(trace.ops.count);
      expect(Math.max(...held)).toBe(peakBytes);
    }
  });

  it("can be reported alone: its ops, what is recomputed, and at its highest what it predicts", async () => {
    const smallest = await rematerialize(graph, {
      budgetBytes: 0.75 * graph.baseBytes + 1,
      iterations: 4000,
      boundTimeMs: 0,
    });
    const plan = readPlan(writePlan(planOfTrace(trace, graph, smallest)));
    const replay = planAsTrace(plan);
    expect(replay.ops.count).toBe(plan.steps.length);
    const again = plan.steps.filter(({ isRecomputed }) => isRecomputed).length;
    expect(replay.ops.phase.filter((phase) => phase === Phase.recompute)).toHaveLength(again);
    expect(Math.max(...memoryTimeline(replay).highestBytes)).toBe(plan.predicted.peakBytes);
    expect(findPlanMismatch(plan, trace)).toBeUndefined();
    const planAlone = { name: "plan.json", plan, device: deviceSpec("a100") };
    const { meta } = await makeReport(replay, { title: "plan", from: "plan", planTimeMs: 0, planAlone });
    expect(meta.summary.opCount).toBe(plan.steps.length);
    // Weights and inputs are there before the first op: the file has the peak with them, and its steps without.
    expect(replay.storages.bytes[0]).toBeGreaterThanOrEqual(graph.baseBytes);
    expect(meta.answers[0].answer).toContain(`Peak memory ${formatBytes(meta.summary.peak!.totalBytes)}`);
    expect(meta.answers[0].reasons).toEqual(
      expect.arrayContaining([expect.stringMatching(/^It fits, with .* to spare\.$/), "A100 has 80 GiB."]),
    );
    expect(meta.answers[0].reasons).toContainEqual(
      expect.stringContaining(`${formatBytes(replay.storages.bytes[0])} of that peak is not in the plan file`),
    );
  });
});

describe("another run", () => {
  it("is compared in numbers, and a measured one said to be so", async () => {
    const plain = goldenTrace("mem_02_transformer_adam");
    const other = goldenTrace("mem_02_transformer_ac_adam");
    const measured = other.withHeader({ ...other.header, mode: "real" });
    const { meta, overlays } = await makeReport(plain, {
      title: "plain",
      planTimeMs: 0,
      compare: { name: "ac", trace: measured },
    });
    expect(meta.overlays.map(({ kind }) => kind)).toEqual(["measured"]);
    expect(overlays[0]).toHaveLength(plain.ops.count);
    const peak = meta.comparison?.view.totals.find(({ name }) => name === "peak memory");
    expect(peak?.value.after).toBe(Math.max(...memoryTimeline(measured).highestBytes));
    expect(meta.comparison?.isMeasured).toBe(true);
  });
});

it("tells a rank of many from a run on one device", async () => {
  const trace = goldenTrace("mem_tf_b2_adam");
  const { meta } = await makeReport(trace, {
    title: "tf",
    planTimeMs: 0,
    fsdp: { name: "world=4,reshard", plan: parseShardingPlan("world=4,reshard") },
  });
  expect(meta.fsdp?.worldSize).toBe(4);
  expect(meta.overlays[0]).toMatchObject({ key: "fsdp", peakBytes: meta.fsdp?.peakBytes });
});

it("has a front of plans that each hold what they promise, the given plan last", async () => {
  const trace = runs.adam;
  const { point } = await planCheckpointing(trace, { budgetFraction: 0.95, iterations: 2000, boundTimeMs: 0 });
  const { meta, followed } = await makeReport(trace, {
    title: "adam",
    planIterations: 4000,
    plan: { name: "p.json", plan: point!.plan },
  });
  const graph = sequenceGraphOfTrace(trace);
  const { front, recommended, recordedPeakBytes } = meta.plans!;
  expect(meta.followed).toEqual([...front, expect.objectContaining({ name: "p.json" })]);
  for (const [i, { peakBytes, recomputations }] of meta.followed.entries()) {
    const account = accountSequence(graph, followed[i].sequence);
    expect(account?.peakBytes).toBe(peakBytes);
    expect(account?.recomputations.reduce((sum, times) => sum + times, 0)).toBe(recomputations);
    expect(followed[i].fates).toHaveLength(trace.ops.count);
  }
  for (let i = 1; i < front.length; i++) {
    expect(front[i].peakBytes).toBeLessThan(front[i - 1].peakBytes);
    expect(front[i].overhead).toBeGreaterThan(front[i - 1].overhead);
  }
  expect(recommended.every(({ peakBytes }) => peakBytes < recordedPeakBytes)).toBe(true);
});

it("has a front of what PyTorch can follow of a run that tells what autograd saves, each as it says", async () => {
  const trace = savesTrace();
  const { meta, followed } = await makeReport(trace, { title: "saves", planIterations: 300 });
  const { isForTorch, front, recommended } = meta.plans!;
  expect(isForTorch).toBe(true);
  expect(front.length).toBeGreaterThan(3);
  const { byHand } = planTorchCheckpoints(trace, { rounds: 3, now: () => 0, findsLeast: false });
  for (const hand of byHand) {
    const within = chooseWithin(front, hand.peakBytes).point;
    if (hand.peakBytes < meta.plans!.recordedPeakBytes && within !== undefined)
      expect(within.overhead).toBeLessThanOrEqual(hand.overhead + 0.01);
  }
  const steps = new CheckpointedSteps(trace);
  for (const [i, { policy, peakBytes, recomputations }] of meta.followed.entries()) {
    const under = steps.under(policy!, "");
    expect(heldPeak(under).peakBytes).toBe(peakBytes);
    expect(recomputations).toBe(under.ops.phase.filter((phase) => phase === Phase.recompute).length);
    expect(followed[i].sequence).toHaveLength(0);
    expect(followed[i].fates).toHaveLength(trace.ops.count);
  }
  for (const { allowedOverhead, overhead } of recommended) expect(overhead).toBeLessThanOrEqual(allowedOverhead);
});

it("marks a plan as stale that was made for a run with other shapes", async () => {
  const plain = stepTrace({ layers: 3 });
  const { point } = await planCheckpointing(plain, { budgetFraction: 1, iterations: 10 });
  const plan = { name: "p.json", plan: point!.plan };
  const ask = async (trace: typeof plain) =>
    (await makeReport(trace, { title: "x", planTimeMs: 0, plan })).meta.answers[0];
  expect((await ask(plain)).reasons.join()).not.toContain("Stale");
  const [reason] = (await ask(stepTrace({ layers: 3, opName: "BatchMatMul" }))).reasons;
  expect(reason).toMatch(/^Stale: the plan was made for another run \(op 0 is planned as .*MatMul/);
});

it("says why there are no plans", async () => {
  const noPlans = async (trace: ReturnType<typeof stepTrace>, planTimeMs = 1) =>
    (await makeReport(trace, { title: "x", planTimeMs })).meta.noPlans;
  expect(await noPlans(stepTrace(), 0)).toBe("planning was disabled (--time 0)");
  expect(await noPlans(goldenTrace("sac_02_transformer"))).toBe("the trace has no backward pass");
});

it("refuses a plan of another run", async () => {
  const answer = await planCheckpointing(stepTrace({ layers: 3 }), { budgetFraction: 1, iterations: 10 });
  await expect(
    makeReport(stepTrace({ layers: 4 }), {
      title: "x",
      planTimeMs: 0,
      plan: { name: "p.json", plan: answer.point!.plan },
    }),
  ).rejects.toThrow("p.json: the plan is for a run of 18 ops, and the run has 24. Name the run that was planned");
});
