import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { parseCheckpoint, parseShardingPlan, simulateFsdp } from "@remat/sharding";
import { compareShardings, receivedBytes } from "@remat/sharding/compare";
import { goldensOf } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { outputFormats } from "../../src/formats/index.js";
import { shardingsDocument } from "../../src/sharding/index.js";

const { golden } = goldensOf("mem-oracle/1").find(({ file }) => file.name === "mem_mlp4_adam")!;
const trace = readPyTorchTrace(golden);
/** As recorded, with what autograd saves. */
const recorded = readPyTorchTrace(
  JSON.parse(
    gunzipSync(readFileSync(new URL("../../../sharding/test/fixtures/plain-tf.json.gz", import.meta.url))).toString(),
  ),
);
const named = (...texts: string[]) => texts.map((name) => ({ name, plan: parseShardingPlan(name) }));
const texts = ["world=4", "world=4,no-reshard", "world=8,replicas=2,bf16", "world=4,offload"];

describe("compareShardings", () => {
  it("tells of each plan what its simulation holds, beside the run on one device", () => {
    const { outcomes } = compareShardings(trace, named(...texts));
    expect(outcomes.map(({ name }) => name)).toEqual(["one device", ...texts]);
    expect(outcomes[0].peakBytes).toBe(heldPeak(trace).peakBytes);
    for (const { name, peakBytes } of outcomes.slice(1))
      expect(peakBytes).toBe(heldPeak(simulateFsdp(trace, parseShardingPlan(name)).trace).peakBytes);
  });

  it("counts what a rank receives: by hand, for four equal layers that are gathered twice, but for the last of the forward pass", () => {
    const [, reshards, keeps, mixed] = compareShardings(trace, named(...texts)).outcomes.map(
      (each) => each.communication,
    );
    const parameters = 4 * (2 * 512 * 2048 + 512 + 2048) * 4;
    expect(reshards).toEqual({
      allGatherBytes: 2 * parameters * (3 / 4),
      reduceScatterBytes: parameters * (3 / 4),
      allReduceBytes: 0,
    });
    expect(keeps.allGatherBytes).toBe(parameters * (3 / 4));
    // Gathered as bfloat16, reduced as float32; each shard is then reduced over two.
    expect(mixed).toEqual({
      allGatherBytes: parameters * (3 / 4),
      reduceScatterBytes: parameters * (3 / 4),
      allReduceBytes: parameters / 4,
    });
  });

  it("names the plan that receives least of those that fit, or the one that holds least", () => {
    const all = named(...texts);
    const peaks = compareShardings(trace, all).outcomes.map(({ peakBytes }) => peakBytes);
    const [most, fewest] = [Math.max(...peaks.slice(1)), Math.min(...peaks.slice(1))];
    const roomy = compareShardings(trace, all, { memoryBytes: most });
    expect(roomy.reason).toBe("least communication of those that fit");
    const received = roomy.outcomes.slice(1).map(({ communication }) => receivedBytes(communication));
    expect(receivedBytes(roomy.best.communication)).toBe(Math.min(...received));
    const tight = compareShardings(trace, all, { memoryBytes: fewest });
    expect([tight.best.peakBytes, tight.reason]).toEqual([fewest, "least communication of those that fit"]);
    expect(compareShardings(trace, all, { memoryBytes: fewest - 1 })).toMatchObject({
      best: { peakBytes: fewest },
      reason: "least memory, and none fits",
    });
    expect(compareShardings(trace, all)).toMatchObject({ best: { peakBytes: fewest }, reason: "least memory" });
  });

  it("tells what a step takes: ops as the device's figures say, in the precision of the plan, and what is waited for", () => {
    // The model is so small that launches would take most of the time.
    const device = { ...deviceSpec("h100"), launchUs: {} };
    const priced = priceTrace(trace, device);
    const plans = named("world=8", "world=8,bf16", "world=16", "world=16,replicas=2");
    const { outcomes, best, reason } = compareShardings(priced, plans, { memoryBytes: 80 * 2 ** 30, device });
    const [alone, plain, mixed, wide, hybrid] = outcomes.map(({ time }) => time!);
    expect(alone.stepMs).toBeGreaterThan(0);
    for (const { stepMs, computeMs, exposedMs } of [plain, mixed, wide, hybrid])
      expect(stepMs).toBeGreaterThanOrEqual(computeMs + exposedMs);
    // Ops on parameters are of shards, all others the same; in bfloat16 they are quicker.
    expect(mixed.computeMs).toBeLessThan(0.7 * plain.computeMs);
    // Over two nodes a ring is slower than two rings, of one node each, whose sums are then exchanged.
    expect(wide.exposedMs).toBeGreaterThan(hybrid.exposedMs);
    expect(reason).toBe("least time of those that fit");
    expect(best.time!.stepMs).toBe(Math.min(...[plain, mixed, wide, hybrid].map(({ stepMs }) => stepMs)));
    const text = outputFormats[0].write(
      shardingsDocument(
        { outcomes, best, reason, model: "m", memoryBytes: 1e11 },
        { trace: priced, pricedFor: device.name },
      ),
      {},
    );
    expect(text).toContain("Times are estimated for H100 (roofline, not calibrated).");
    expect(text).toMatch(/^compute {2}.*█/m);
    expect(text).toMatch(/^all-gather {2}/m);
  });

  it("compares ways to checkpoint a step on one device", () => {
    const comparison = compareShardings(recorded, [
      { name: "all", checkpoint: parseCheckpoint("layers.*") },
      { name: "products", checkpoint: parseCheckpoint("layers.*(save=dots_saveable)") },
    ]);
    const [plain, all, products] = comparison.outcomes.map(({ peakBytes }) => peakBytes);
    expect(all).toBeLessThan(products);
    expect(products).toBeLessThan(plain);
    const text = outputFormats[0].write(shardingsDocument(comparison, { trace: recorded, pricedFor: "a100" }), {});
    expect(text).toContain("on one device");
    expect(text).not.toContain("Communication");
  });

  it("is written in each format, and offload's memory beside", () => {
    const comparison = compareShardings(trace, named(...texts), { memoryBytes: 80 * 2 ** 30 });
    const document = shardingsDocument(comparison, { trace, pricedFor: "a100" });
    for (const format of outputFormats) expect(format.write(document, {})).toContain("world=8,replicas=2,bf16");
    const table = outputFormats[0].write(document, {});
    expect(table.match(/ on cpu/g)).toHaveLength(1);
  });
});
