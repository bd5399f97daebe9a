import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import {
  type CheckpointedRun,
  parseShardingPlan,
  type ShardingPlan,
  scheduleStreams,
  simulateFsdp,
} from "@remat/sharding";
import type { Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { planSharding } from "../../src/sharding/index.js";

const device = deviceSpec("a100");
const network = { perNode: 4, nodeGBps: 300, betweenGBps: 5, latencyUs: 5 };

function recorded(name: string) {
  const file = readFileSync(new URL(`../../../sharding/test/fixtures/${name}.json.gz`, import.meta.url));
  return priceTrace(readPyTorchTrace(JSON.parse(gunzipSync(file).toString())), device);
}

const trace = recorded("plain-tf");

function stepUnder(plan: ShardingPlan, run?: CheckpointedRun) {
  const simulation = simulateFsdp(trace, plan, run);
  const { allGatherBytes, reduceScatterBytes, allReduceBytes } = simulation.communication;
  const { totalMs } = scheduleStreams(simulation, simulation.trace, { ...device, network });
  return {
    peakBytes: heldPeak(simulation.trace).peakBytes,
    stepMs: totalMs / simulation.steps,
    receivedBytes: allGatherBytes + reduceScatterBytes + allReduceBytes,
  };
}

const plan = (text: string, fraction: number) =>
  planSharding(trace, parseShardingPlan(text), { budget: { fraction }, stepUnder, network, rounds: 8, now: () => 0 });

describe("planSharding", () => {
  const wraps = ["", ",wrap=", ",wrap=layers.*,wrap=layers.*.*"];
  const reshards = ["", ",no-reshard", ",reshard=4"];
  const checkpoints = ["", ",checkpoint=layers.*", ",checkpoint=layers.0", ",checkpoint=layers.*(save=mm+addmm)"];

  it.each([0.97, 0.9, 0.8])(
    "finds at %d of what is held as given nothing slower than any combination that a person would write",
    (fraction) => {
      const { found, budgetBytes, given, least, byHand } = plan("world=8", fraction);
      expect(budgetBytes).toBe(Math.floor(fraction * given.peakBytes));
      const fitting = wraps
        .flatMap((wrap) => reshards.flatMap((reshard) => checkpoints.map((each) => `world=8${wrap}${reshard}${each}`)))
        .map((text) => stepUnder(parseShardingPlan(text)))
        .filter(({ peakBytes }) => peakBytes <= budgetBytes);
      expect(found === undefined).toBe(fitting.length === 0 && least.peakBytes > budgetBytes);
      for (const one of [...fitting, ...byHand.filter(({ peakBytes }) => peakBytes <= budgetBytes)])
        expect(found!.stepMs).toBeLessThanOrEqual(one.stepMs! * (1 + 1e-9));
      for (const one of [given, ...byHand]) expect(least.peakBytes).toBeLessThanOrEqual(one.peakBytes);
    },
  );

  it("says what was added as the text of a plan does", () => {
    for (const fraction of [0.95, 0.8]) {
      const { found } = plan("world=8,bf16", fraction);
      if (found === undefined) continue;
      const typed = parseShardingPlan(["world=8,bf16", found.added].filter(Boolean).join(","));
      expect(stepUnder(typed)).toEqual(stepUnder(found.plan));
      expect(found.peakBytes).toBe(stepUnder(typed).peakBytes);
    }
  });

  it("leaves what the plan says", () => {
    const { found, tried } = plan("world=8,wrap=layers.*,no-reshard", 1);
    expect(found!.plan).toMatchObject({ worldSize: 8, wrap: ["layers.*"], reshardAfterForward: false });
    expect(tried).toBeGreaterThan(1);
    const settled = plan("world=8,wrap=layers.*,reshard,checkpoint=layers.0", 1);
    expect(settled.tried).toBe(1);
    expect(settled.found).toBe(settled.given);
    expect(plan("world=8,ddp", 1).found!.plan.strategy).toBe("ddp");
  });

  it("says so where nothing fits, or time runs out", () => {
    const { found, least, budgetBytes } = plan("world=8", 0.05);
    expect(found).toBeUndefined();
    expect(least.peakBytes).toBeGreaterThan(budgetBytes);
    let clock = 0;
    const hurried = planSharding(
      trace,
      { worldSize: 8 },
      {
        budget: { fraction: 0.9 },
        stepUnder,
        timeMs: 1,
        now: () => clock++,
      },
    );
    expect(hurried.isCutShort).toBe(true);
    expect(hurried.byHand.length).toBeGreaterThan(0);
  });

  it("throws what simulateFsdp throws of the plan as given", () => {
    expect(() => plan("world=8,wrap=layer.*", 1)).toThrow('no module is named "layer.*"');
  });
});

describe("a step that was recorded in the dtype of the plan, too", () => {
  const twice = recorded("in-two-dtypes-llama");
  const low = twice.recordedIn.get("bfloat16")!;
  const asked = { budget: { fraction: 0.85 }, network, rounds: 3, now: () => 0 };
  const under = (run: Trace) => (each: ShardingPlan, runs?: CheckpointedRun) => {
    const { peakBytes } = heldPeak(simulateFsdp(run, each, runs).trace);
    return { peakBytes, stepMs: undefined, receivedBytes: 0 };
  };

  it("is planned on that, ops to save by its names, as the plan was given", () => {
    const { found, given, tried } = planSharding(twice, parseShardingPlan("world=4,bf16"), {
      ...asked,
      stepUnder: under(twice),
    });
    const there = planSharding(low, parseShardingPlan("world=4,bf16,stored=float32"), {
      ...asked,
      stepUnder: under(low),
    });
    expect([found!.added, found!.peakBytes, given.peakBytes, tried]).toEqual([
      there.found!.added,
      there.found!.peakBytes,
      there.given.peakBytes,
      there.tried,
    ]);
    expect(found!.added).toContain("checkpoint=");
    expect(found!.plan.storedDtype).toBeUndefined();
  });
});
