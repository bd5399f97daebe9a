import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Category, type CategoryName, EventKind, type Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { shardStates, simulateFsdp } from "../src/index.js";

/** Bytes of all storages that are in a category at some time. */
function bytesIn({ storages, events }: Trace, category: CategoryName): number {
  const seen = new Set<number>();
  for (let s = 0; s < storages.count; s++) if (storages.category[s] === Category[category]) seen.add(s);
  for (let e = 0; e < events.count; e++)
    if (events.kind[e] === EventKind.categorize && events.value[e] === Category[category]) seen.add(events.subject[e]);
  return [...seen].reduce((sum, s) => sum + storages.bytes[s], 0);
}

const recorded = goldenFiles().filter(({ name }) => /^mem_(02|03|04|mlp4_adam|tf_b2_adam|vit|min)/.test(name));

describe("a rank's states without gathering are those of the simulated rank", () => {
  it.each(recorded.flatMap((file) => [2, 7, 64].map((worldSize) => ({ ...file, worldSize }))))(
    "$name over $worldSize",
    (file) => {
      const { worldSize } = file;
      const trace = readPyTorchTrace(readGolden(file));
      const shards = shardStates(trace, worldSize);
      const rank = simulateFsdp(trace, { worldSize, wrap: [] }).trace;
      expect({
        parameters: bytesIn(shards, "parameter"),
        gradients: bytesIn(shards, "gradient"),
        optimizerStates: bytesIn(shards, "optimizerState"),
      }).toEqual({
        parameters: bytesIn(rank, "shardedParameter"),
        gradients: bytesIn(rank, "shardedGradient"),
        optimizerStates: bytesIn(rank, "optimizerState"),
      });
      expect(shards.ops).toBe(trace.ops);
      expect(heldPeak(shards).peakBytes).toBeLessThan(heldPeak(trace).peakBytes);
      expect(heldPeak(shards).peakBytes).toBeLessThanOrEqual(heldPeak(rank).peakBytes);
    },
  );
});

it("refuses a world of no ranks", () => {
  const trace = readPyTorchTrace(readGolden(recorded[0]));
  expect(() => shardStates(trace, 0)).toThrow(expect.objectContaining({ code: "SHARDING_PLAN" }));
});
