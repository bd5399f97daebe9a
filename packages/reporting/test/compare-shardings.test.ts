import { parseShardingPlan, simulateFsdp } from "@remat/mem-tracker/fsdp";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { goldensOf } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { compareShardings, outputFormats, receivedBytes, shardingsDocument } from "../src/index.js";

const { golden } = goldensOf("mem-oracle/1").find(({ file }) => file.name === "mem_mlp4_adam")!;
const trace = readPyTorchTrace(golden);
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
    const roomy = compareShardings(trace, all, most);
    expect(roomy.reason).toBe("least communication of those that fit");
    const received = roomy.outcomes.slice(1).map(({ communication }) => receivedBytes(communication));
    expect(receivedBytes(roomy.best.communication)).toBe(Math.min(...received));
    const tight = compareShardings(trace, all, fewest);
    expect([tight.best.peakBytes, tight.reason]).toEqual([fewest, "least communication of those that fit"]);
    expect(compareShardings(trace, all, fewest - 1)).toMatchObject({
      best: { peakBytes: fewest },
      reason: "least memory, and none fits",
    });
    expect(compareShardings(trace, all)).toMatchObject({ best: { peakBytes: fewest }, reason: "least memory" });
  });

  it("is written in each format, and offload's memory beside", () => {
    const document = shardingsDocument(compareShardings(trace, named(...texts), 80 * 2 ** 30));
    for (const format of outputFormats) expect(format.write(document, {})).toContain("world=8,replicas=2,bf16");
    const table = outputFormats[0].write(document, {});
    expect(table.match(/ on cpu/g)).toHaveLength(1);
  });
});
