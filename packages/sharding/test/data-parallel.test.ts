import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import type { Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { parseShardingPlan, scheduleStreams, simulateFsdp } from "../src/index.js";
import { zeroPartition } from "../src/zero-partition.js";

function recorded(name: string): Trace {
  const fixture = new URL(`./fixtures/${name}.json.gz`, import.meta.url);
  return readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(fixture)).toString()));
}

/** Four blocks of two linear layers, 8,398,848 parameters, recorded on one device with the batch and optimizer of their names. */
const traces = {
  "sgd-64": recorded("blocks-sgd-64"),
  "sgd-4096": recorded("blocks-sgd-4096"),
  "adam-64": recorded("blocks-adam-64"),
  "adam-4096": recorded("blocks-adam-4096"),
};
const parameterBytes = 33_595_392;

/**
 * Measured with `MemTracker` of PyTorch 2.13 over three steps of the same under `DistributedDataParallel` (gloo), whose
 * buckets it sees because they are created under it.
 */
const measured = [
  ["sgd-64", "ddp", 101_441_544],
  ["sgd-64", "ddp,bucket-view", 74_663_944],
  ["sgd-4096", "ddp", 306_268_168],
  ["sgd-4096", "ddp,bucket=5,bucket-view", 302_071_816],
  ["adam-64", "ddp,bucket=5", 168_632_392],
  ["adam-64", "ddp,bucket-view", 141_854_792],
  ["adam-4096", "ddp,bucket=5", 373_459_016],
  ["adam-4096", "ddp,bucket-view", 369_262_664],
] as const;

it.each(measured)("%s under %s holds what PyTorch holds, to the byte", (name, text, peakBytes) => {
  const { trace } = simulateFsdp(traces[name], parseShardingPlan(`world=2,${text}`));
  expect(heldPeak(trace).peakBytes).toBe(peakBytes);
});

/** The same of `ZeroRedundancyOptimizer` of PyTorch 2.13 in the place of the optimizer, rank by rank. */
const measuredZero = [
  ["adam-64", "world=2", 108_259_368],
  ["adam-64", "world=2,rank=1", 108_259_368],
  ["adam-64", "world=3", 99_829_780],
  ["adam-64", "world=3,rank=1", 99_829_780],
  ["adam-64", "world=3,rank=2", 91_523_120],
  ["adam-4096", "world=3,rank=1", 327_237_652],
  ["adam-4096", "world=3,rank=2", 318_930_992],
] as const;

it.each(measuredZero)("%s with ZeRO-1 under %s holds what PyTorch holds, to the byte", (name, ranks, peakBytes) => {
  const { trace } = simulateFsdp(traces[name], parseShardingPlan(`${ranks},zero=1,bucket=5,bucket-view`));
  expect(heldPeak(trace).peakBytes).toBe(peakBytes);
});

const simulate = (text: string) => simulateFsdp(traces["adam-64"], parseShardingPlan(text));

describe("communication volume, computed by hand", () => {
  it.each([
    ["world=4,ddp", { allGatherBytes: 0, reduceScatterBytes: 0, allReduceBytes: 2 * 0.75 * parameterBytes }],
    [
      "world=4,zero=1",
      { allGatherBytes: 0.75 * parameterBytes, reduceScatterBytes: 0, allReduceBytes: 1.5 * parameterBytes },
    ],
    [
      "world=4,zero=2",
      { allGatherBytes: 0.75 * parameterBytes, reduceScatterBytes: 0.75 * parameterBytes, allReduceBytes: 0 },
    ],
    [
      "world=4,ddp,micro-batches=3",
      { allGatherBytes: 0, reduceScatterBytes: 0, allReduceBytes: 3 * 1.5 * parameterBytes },
    ],
    [
      "world=4,ddp,micro-batches=3,sync-last",
      { allGatherBytes: 0, reduceScatterBytes: 0, allReduceBytes: 1.5 * parameterBytes },
    ],
  ])("%s", (text, expected) => {
    expect(simulate(text).communication).toEqual(expected);
  });
});

it("shards optimizer states with ZeRO-1, and gradients, too, with ZeRO-2", () => {
  const statesOf = (text: string): number => heldPeak(simulate(text).trace).bytesByCategory.optimizerState ?? 0;
  const whole = statesOf("world=4,ddp");
  for (const text of ["world=4,zero=1", "world=4,zero=2"]) {
    // With ZeRO-2 a step count for each parameter is no shard.
    expect(statesOf(text)).toBeGreaterThanOrEqual(whole / 4);
    expect(statesOf(text)).toBeLessThan(whole / 4 + 1000);
  }
  const [one, two] = ["world=4,zero=1", "world=4,zero=2"].map((text) => heldPeak(simulate(text).trace));
  expect(two.peakBytes).toBeLessThan(one.peakBytes);
  // Four blocks in buckets of 1 and 5 MiB: no more than a bucket of whole gradients at a time, besides shards.
  const { bytesByCategory } = heldPeak(simulate("world=4,zero=2,bucket=5").trace);
  expect(bytesByCategory.shardedGradient ?? 0).toBeLessThanOrEqual(parameterBytes / 4 + 16);
});

/** Which rank has each parameter by `ZeroRedundancyOptimizer._partition_parameters` of PyTorch 2.13. */
const partitions = JSON.parse(
  readFileSync(new URL("./fixtures/zero-partitions.json", import.meta.url), "utf8"),
) as readonly {
  readonly shapes: readonly (readonly number[])[];
  readonly world: number;
  readonly ranks: readonly number[];
}[];

describe("ZeRO-1", () => {
  it.each(partitions.map(({ shapes, world, ranks }) => [shapes.length, world, shapes, ranks] as const))(
    "gives %d parameters to %d ranks as PyTorch does",
    (_, world, shapes, ranks) => {
      const parameters = shapes.map((shape) => ({ elements: shape.reduce((product, side) => product * side, 1) }));
      expect([...zeroPartition(parameters, world)]).toEqual(ranks);
    },
  );

  it("keeps of each rank the states of what it updates, and all ranks together what one device does", () => {
    const statesOf = (text: string): number => heldPeak(simulate(text).trace).bytesByCategory.optimizerState ?? 0;
    const [MiB, counter] = [2 ** 20, 4];
    // Eight weights of 4 MiB, then biases of 40 KiB together, largest first: three ranks have 3, 3 and 2 weights, and the third all biases.
    const of = (weights: number, biases: number): number =>
      2 * (weights * 4 * MiB + (biases * 40 * 1024) / 8) + (weights + biases) * counter;
    const ranks = [0, 1, 2].map((rank) => statesOf(`world=3,zero=1,rank=${rank}`));
    expect(ranks).toEqual([of(3, 0), of(3, 0), of(2, 8)]);
    expect(ranks.reduce((sum, each) => sum + each)).toBe(statesOf("world=3,ddp"));
    expect(simulate("world=3,zero=1,rank=2").trace.header.notes!.join()).toContain(
      "rank 2 updates 10 of 16, 25.1% of their elements, and rank 0 most, 37.5%",
    );
    expect(simulate("world=3,zero=1,rank=2").communication.allGatherBytes).toBe(6 * 4 * MiB);
  });
});

it("reduces buckets beside the backward pass, and waits for them at its end", () => {
  const network = { perNode: 8, nodeGBps: 100, betweenGBps: 10, latencyUs: 5 };
  const simulation = simulate("world=8,ddp,bucket=5");
  const found = scheduleStreams(simulation, simulation.trace, { network, memoryGBps: 1000 });
  const [, , , replicate] = found.lanes;
  // 1 MiB is full with the last layer's weight (4 MiB), 5 MiB are with two weights, of which seven are left.
  expect(simulation.work.filter(({ kind }) => kind === "reduce")).toHaveLength(1 + 3 + 1);
  expect(replicate.spans.length).toBeGreaterThan(0);
  expect(found.exposedMs).toBeGreaterThan(0);
  expect(found.groups[0].reduceMs).toBeGreaterThan(2 * 0.875 * (parameterBytes / 100e6));
});

describe("refuses", () => {
  it.each([
    ["world=4,ddp,wrap=0", "wrap= is for FSDP, and the plan says ddp"],
    ["world=4,ddp,bf16", "bf16, param=, reduce=, output= and cast= is for FSDP"],
    ["world=4,zero=1,offload", "offload is for FSDP, and the plan says zero1"],
    ["world=4,zero=3", "FSDP is ZeRO-3"],
    ["world=4,bucket=5", "bucket= and bucket-view are for ddp and zero=1"],
    ["world=4,ddp,bucket=0", "buckets need at least one byte"],
  ])("%s", (text, message) => {
    expect(() => parseShardingPlan(text)).toThrow(
      expect.objectContaining({ code: "SHARDING_PLAN", message: expect.stringContaining(message) }),
    );
  });
});
