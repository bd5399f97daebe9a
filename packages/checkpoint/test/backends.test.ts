import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";
import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { dailyRuns, nativeApp } from "@remat/testkit";
import { type Plan, readPlan, writePlan } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { programs, runProgram } from "../../dispatch-hook/test/programs.js";
import { fasterGradients, releaseEarly, type StepReport, withMemoryBudget, withPlan } from "../src/index.js";
import { optimizers, peakOfPass, stepsInNamedBudget, stockSteps } from "./budget/updates.js";
import { EvictingPolicy, evicting } from "./executor/evict-all.js";
import { exampleNamed, gradientsOnly, train } from "./training.js";

const nativeFolder = nativeApp();
/**
 * Backends that the other tests do not run on. tensorflow is included if NATIVE_APP names a folder with tfjs-node and
 * its addon.
 */
const backends: readonly BackendName[] = nativeFolder === undefined ? ["wasm"] : ["wasm", "tensorflow"];

describe.each(backends)("on %s", (backend) => {
  beforeAll(async () => {
    await selectBackend({
      for: "training",
      backend,
      ...(backend === "tensorflow" && { from: nativeFolder as string }),
    });
  });

  test("whatever is evicted whenever, any program gives what it gives in stock, to the bit", () => {
    fc.assert(
      fc.property(programs, fc.infiniteStream(fc.boolean()), fc.boolean(), (program, choices, all) => {
        const isChosen = () => all || choices.next().value === true;
        const stock = runProgram(program);
        expect(runProgram(program, (step) => evicting(step, new EvictingPolicy(isChosen)))).toEqual(stock);
        const stop = releaseEarly();
        try {
          expect(runProgram(program)).toEqual(stock);
        } finally {
          stop();
        }
      }),
      { numRuns: dailyRuns(30) },
    );
  });

  /** Bytes of weights that no op reads: only the prediction, which has a tracker, knows of EfficientNet's count of samples. */
  const examples: readonly (readonly [
    name: string,
    steps: number,
    fractions: readonly number[],
    unreadBytes: number,
  ])[] = [
    ["shared-layers", 10, [1, 0.5], 0],
    ["lstm", 10, [0.6], 0],
    ["transformer", 10, [1, 0.5], 0],
    ["u-net", 10, [0.6, 0.3], 0],
    ["mobilenet-v2", 10, [0.7, 0.6], 0],
    ["resnet50", 3, [1], 0],
    ["efficientnet-b0", 3, [0.7], 4],
  ];

  /** On wasm those that train within seconds. */
  const predictedOnWasm = new Set(["shared-layers", "lstm", "u-net", "transformer"]);
  const predicted = examples.filter(([name]) => backend !== "wasm" || predictedOnWasm.has(name));

  test.each(predicted)(
    "%s trains under plans as stock, to the bit, in the memory that was predicted, to the byte",
    async (name, steps, fractions, unreadBytes) => {
      const build = await exampleNamed(name);
      const stock = await train(build, { steps });
      expect(await train(build, { steps })).toEqual(stock);
      const traced = await traceFakeStep(build, { ...gradientsOnly, size: "tiny", backend });
      const trace = priceTrace(traced, deviceSpec("cpu"));
      let planCount = 0;
      for (const budgetFraction of fractions) {
        const { point } = await planCheckpointing(trace, { budgetFraction, timeMs: 400, boundTimeMs: 0 });
        if (point === undefined) continue;
        planCount++;
        const reports: StepReport[] = [];
        const planned = await train(build, { steps }, (step) =>
          withPlan(point.plan, (execution) => {
            step();
            reports.push(execution.lastStep as StepReport);
          }),
        );
        expect(planned).toEqual(stock);
        const [{ peakBytes, recomputedOnTouch }] = reports;
        expect({ peakBytes, recomputedOnTouch }).toEqual({
          peakBytes: point.peakBytes - unreadBytes,
          recomputedOnTouch: 0,
        });
      }
      expect(planCount).toBeGreaterThan(0);
    },
  );

  test.each(["transformer", "mobilenet-v2"].filter((name) => backend !== "wasm" || predictedOnWasm.has(name)))(
    "%s, planned with faster gradients, trains with them, to the bit, in the memory that was predicted, to the byte",
    async (name) => {
      const build = await exampleNamed(name);
      const stock = await train(build);
      const stop = fasterGradients();
      const traced = await traceFakeStep(build, { ...gradientsOnly, size: "tiny", backend }).finally(stop);
      expect(traced.header.fasterGradients).toBe("equal");
      const options = { budgetFraction: 0.8, timeMs: 400, boundTimeMs: 0 };
      const { point } = await planCheckpointing(priceTrace(traced, deviceSpec("cpu")), options);
      const plan = readPlan(writePlan(point?.plan as Plan));
      const reports: StepReport[] = [];
      const planned = await train(build, {}, (step) =>
        withPlan(plan, (execution) => {
          step();
          reports.push(execution.lastStep as StepReport);
        }),
      );
      expect(planned).toEqual(stock);
      const [{ peakBytes, recomputedOnTouch }] = reports;
      expect({ peakBytes, recomputedOnTouch }).toEqual({ peakBytes: point?.peakBytes, recomputedOnTouch: 0 });
    },
  );

  test.each(Object.entries(optimizers))(
    "an update by %s that does not fit is rejected before it begins, and trains in the budget that the error names",
    (_, make) => {
      const stock = stockSteps(make);
      for (const budget of [2, peakOfPass(make)]) expect(stepsInNamedBudget(make, budget).seen).toEqual(stock);
    },
  );

  test.each(["transformer", "u-net"])("%s trains within a budget without a plan as stock, to the bit", async (name) => {
    const build = await exampleNamed(name);
    const stock = await train(build, { steps: 3 });
    let peakBytes = 0;
    const online = await train(build, { steps: 3 }, (step, index) =>
      withMemoryBudget(
        index === 0 ? "100%" : Math.floor(0.7 * peakBytes),
        (execution) => {
          step();
          if (index === 0) peakBytes = execution.budgetBytes as number;
          else expect(execution.lastStep?.peakBytes).toBeLessThanOrEqual(0.7 * peakBytes);
        },
        { online: true },
      ),
    );
    expect(online).toEqual(stock);
  });
});
