import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";
import { planCheckpointing } from "@remat/planner";
import { nativeApp } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { applyPlan, type PlanExecution, withPlan } from "../src/index.js";
import { networkOf, networks, randomlyTimed } from "./networks.js";
import { exampleNamed, gradientsOnly, train } from "./training.js";

const nativeFolder = nativeApp();
const backends: readonly BackendName[] = nativeFolder === undefined ? ["cpu"] : ["cpu", "tensorflow"];

const effort = { iterations: 200, boundTimeMs: 0 };
const seeds = fc.integer({ min: 1, max: 1e6 });

describe.each(backends)("on %s", (backend) => {
  beforeAll(async () => {
    if (backend === "cpu") await tf.setBackend(backend);
    else await selectBackend({ backend, from: nativeFolder as string });
  });

  test("any network trains under a plan as stock, to the bit, in the memory that was predicted, to the byte", async () => {
    const given = checkedShare();
    let plans = 0;
    await fc.assert(
      fc.asyncProperty(networks, seeds, async (network, seed) => {
        const trace = randomlyTimed(await traceFakeStep(networkOf(network), { ...gradientsOnly, backend }), seed);
        const { point } = await planCheckpointing(trace, { budgetFraction: network.budgetFraction, ...effort });
        if (!given(point)) return;
        plans++;
        const stock = await train(networkOf(network), { steps: 3 });
        const peaks: number[] = [];
        const heldBytes: number[] = [];
        let execution: PlanExecution | undefined;
        // From the second step on the ledger knows only of what the first has shown to be of use.
        const planned = await train(networkOf(network), { steps: 3 }, (step) => {
          execution ??= applyPlan(point.plan);
          heldBytes.push(tf.memory().numBytes);
          step();
          peaks.push(execution.lastStep?.peakBytes ?? 0);
          expect(execution.lastStep?.recomputedOnTouch).toBe(0);
        }).finally(() => execution?.close());
        expect(planned).toEqual(stock);
        // The first update makes slots, and is the first that is seen to read the two scalars of the optimizer.
        const updatedBytes = point.peakBytes + heldBytes[1] - heldBytes[0] + 8;
        expect(peaks).toEqual([point.peakBytes, updatedBytes, updatedBytes]);
      }),
      { numRuns: 20 },
    );
    expect(plans).toBeGreaterThan(10);
  });

  test("any plan of shared layers holds what was predicted, to the byte", async () => {
    const shared = await exampleNamed("shared-layers");
    const trace = await traceFakeStep(shared, { ...gradientsOnly, size: "tiny", backend });
    await fc.assert(
      fc.asyncProperty(seeds, fc.constantFrom(0.05, 0.2, 0.5), async (seed, maxOverhead) => {
        const { point } = await planCheckpointing(randomlyTimed(trace, seed), {
          maxOverhead,
          iterations: 20_000,
          boundTimeMs: 0,
          seed,
        });
        let peakBytes: number | undefined;
        await train(shared, { steps: 1 }, (step) =>
          withPlan(point!.plan, (execution) => {
            step();
            peakBytes = execution.lastStep?.peakBytes;
          }),
        );
        expect(peakBytes).toBe(point!.peakBytes);
      }),
      // In these two plans a view that was refreshed too early held more than was predicted.
      {
        numRuns: 15,
        examples: [
          [35157, 0.2],
          [20, 0.05],
        ],
      },
    );
  });
});
