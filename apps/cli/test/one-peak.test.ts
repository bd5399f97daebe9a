import { tellsLifetimes } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { summarizePlan } from "@remat/reporting";
import { planDocument } from "@remat/reporting/documents";
import { writeDocument } from "@remat/reporting/formats";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden, sampledCases } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import { type Trace, TraceBuilder } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exampleNamed, exampleNames } from "../../../examples/test/examples.js";
import { actions, traceOf } from "../../../packages/memory/test/tracker/random-trace.js";
import { randomTraces } from "../../../packages/planner/test/plan/random-traces.js";
import { traceArbitrary } from "../../../packages/trace/test/arbitrary-trace.js";
import { unrecomputedPlan } from "../src/plan/unrecomputed-plan.js";
import { expectOnePeak, expectOnePlannedPeak, isPlannable } from "./every-peak.js";

const priced = (trace: Trace): Trace => priceTrace(trace, deviceSpec("a100"));

describe("every view tells the same peak, at the same op, and of a plan one within its budget", () => {
  const recorded = goldenFiles().filter(({ name }) => /^(mem|fsdp|sac)_/.test(name) && !name.includes("_err_"));
  it.each(sampledCases(recorded, 3))("for $name", async (file) => {
    const trace = priced(readPyTorchTrace(readGolden(file)));
    if (!tellsLifetimes(trace)) return expect(file.name).toMatch(/^sac_/);
    expectOnePeak(trace);
    if (isPlannable(trace)) await expectOnePlannedPeak(trace, 0.9);
  });

  it.each(exampleNames)("for a step of %s", async (name) => {
    const trace = priced(await traceFakeStep(await exampleNamed(name), { name, size: "tiny", backend: "cpu" }));
    expectOnePeak(trace);
    for (const unit of [1, 512]) {
      const inUnits = trace.withHeader({ ...trace.header, allocationUnitBytes: unit });
      expectOnePeak(inUnits);
      await expectOnePlannedPeak(inUnits, 0.6);
    }
  });

  it("for random runs on several devices, with resizes and changes of category", () => {
    const given = checkedShare();
    fc.assert(
      fc.property(actions, (steps) => {
        const trace = traceOf(steps);
        if (given(tellsLifetimes(trace) && trace.strings.includes("cuda:0"))) expectOnePeak(trace);
      }),
      { numRuns: 300 },
    );
  });

  it("for random training steps, planned", async () => {
    let recomputed = 0;
    await fc.assert(
      fc.asyncProperty(randomTraces, fc.constantFrom(0.9, 0.7, 0.5), async (trace, share) => {
        expectOnePeak(trace);
        recomputed += (await expectOnePlannedPeak(trace, share)) ?? 0;
      }),
      { numRuns: 150 },
    );
    expect(recomputed).toBeGreaterThan(0);
  });

  it("or refuses a run that frees what is not there, in every view", () => {
    const outcome = (read: () => number): number | string => {
      try {
        return read();
      } catch (error) {
        return (error as { code?: string }).code ?? String(error);
      }
    };
    let refused = 0;
    fc.assert(
      fc.property(traceArbitrary, (trace) => {
        const found = outcome(() => expectOnePeak(trace));
        if (typeof found === "number") return;
        expect(["TRACE_EVENT_ORDER", "TRACE_NO_LIFETIMES", "MEMORY_NO_EVENTS"]).toContain(found);
        refused++;
      }),
      { numRuns: 200 },
    );
    expect(refused).toBeGreaterThan(0);
  });
});

it("plans the accelerator's memory where parameters are offloaded to the CPU, and says what is held there", async () => {
  const file = goldenFiles().find(({ name }) => name === "fsdp_tf_ws4_reshard1_offload")!;
  const trace = priced(readPyTorchTrace(readGolden(file)));
  expect(expectOnePeak(trace)).toBe(573_147_136);
  const plan = await unrecomputedPlan(trace);
  const summary = summarizePlan(plan, trace, { unrecomputed: plan });
  // The quarter of 141,674,496 B of parameters that a rank of 4 keeps.
  expect([...summary.elsewhere]).toEqual([["cpu", 35_418_624]]);
  expect(writeDocument(planDocument(summary), "plain")).toMatch(
    /^The plan is for cuda:0\. These figures do not include memory of other devices at the peak: [\d.]+ MiB on cpu\.$/m,
  );
});

it("plans ResNet-50 within 30%, and shows no more than the budget", async () => {
  const name = "resnet50";
  const trace = priced(await traceFakeStep(await exampleNamed(name), { name, size: "full", backend: "cpu" }));
  expectOnePeak(trace);
  expect(await expectOnePlannedPeak(trace, 0.3, 3000)).toBeDefined();
});

it("counts what JavaScript makes and nothing reads while the next op runs, in a plan as in its simulation", async () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "m" });
  const tensor = (bytes: number) => {
    const storage = b.allocate(bytes, "cpu");
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [bytes] }) };
  };
  const x = tensor(10);
  b.op({ name: "a", outputs: [x.tensor], runtimeMs: 1 });
  const unread = tensor(7);
  const y = tensor(5);
  b.op({ name: "b", phase: 1, inputs: [x.tensor], outputs: [y.tensor], runtimeMs: 1 });
  for (const { storage } of [x, unread, y]) b.free(storage);
  const trace = b.build();
  expectOnePeak(trace);
  expect(await expectOnePlannedPeak(trace, 1)).toBe(0);
});
