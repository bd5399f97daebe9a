import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { CheckpointedRun, parseShardingPlan } from "@remat/sharding";
import { shardingOutcome } from "@remat/sharding/compare";
import { goldensOf } from "@remat/testkit";
import { formatBytes } from "@remat/trace/text";
import { expect, it } from "vitest";
import { describeRise } from "../../src/sharding/index.js";

const traceOf = (name: string) =>
  readPyTorchTrace(goldensOf("mem-oracle/1").find(({ file }) => file.name === name)!.golden);
const mlp = traceOf("mem_mlp4_adam");
const cnn = traceOf("mem_04_cnn_adam");
const outcome = (trace: typeof mlp, text: string) =>
  shardingOutcome(trace, { name: text, plan: parseShardingPlan(text) }, new CheckpointedRun(trace));
const riseOf = (trace: typeof mlp, text: string) => describeRise(outcome(trace, text), heldPeak(trace).peakBytes);

it("is nothing where a rank holds less than one device", () => {
  expect(outcome(mlp, "world=8").peakBytes).toBeLessThan(heldPeak(mlp).peakBytes);
  expect(riseOf(mlp, "world=8")).toBeUndefined();
});

it("is padding, where parameters have fewer rows than there are ranks", () => {
  const { peakBytes, sharded } = outcome(cnn, "world=1024");
  expect(peakBytes).toBeGreaterThan(heldPeak(cnn).peakBytes);
  // Each of at most 1024 rows is padded to 1024.
  const { parameters, shorter, bytes, gatheredBytes, ranks } = sharded!;
  expect([ranks, shorter]).toEqual([1024, parameters]);
  expect(gatheredBytes).toBeGreaterThan(2 * bytes);
  const told = riseOf(cnn, "world=1024");
  expect(told).toMatch(/^more than on one device: at the peak .*(unsharded parameters|all-gather buffers)/);
  expect(told).toContain(
    `${parameters} of ${parameters} parameters have fewer rows than there are shards (1024), and padding grows them from ${formatBytes(bytes)} to ${formatBytes(gatheredBytes)}; replicas= shards over fewer ranks`,
  );
});

it("is one group of all parameters, where nothing is padded", () => {
  const { peakBytes, sharded } = outcome(mlp, "world=2,no-wrap");
  expect(sharded).toMatchObject({ groups: 1, shorter: 0 });
  expect(sharded!.gatheredBytes).toBe(sharded!.bytes);
  expect(describeRise(outcome(mlp, "world=2,no-wrap"), peakBytes / 2)).toMatch(
    /; all parameters are one group, which is unsharded at once; wrap= splits it$/,
  );
});

it("says nothing of ranks each of which has all parameters", () => {
  const alone = outcome(mlp, "world=2,ddp");
  expect(alone.sharded).toBeUndefined();
  expect(describeRise(alone, alone.peakBytes / 2)).toBeUndefined();
});
