import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { parseShardingPlan, simulateFsdp } from "@remat/sharding";
import { summarizeUnits } from "@remat/sharding/compare";
import { goldensOf } from "@remat/testkit";
import { expect, it } from "vitest";
import { outputFormats } from "../../src/formats/index.js";
import { unitsDocument } from "../../src/sharding/index.js";

const { golden } = goldensOf("mem-oracle/1").find(({ file }) => file.name === "mem_tf_b2_adam")!;
const trace = readPyTorchTrace(golden);

it.each([
  "world=4",
  "world=4,no-reshard",
  "world=8,reshard=2",
  "world=4,wrap=layers.0+layers.1,wrap=layers.2",
  "world=4,backward-prefetch=3",
])("%s: what is gathered when the rank holds most is what it holds of gathered parameters then", (text) => {
  const plan = parseShardingPlan(text);
  const units = summarizeUnits(trace, plan);
  const atPeak = units.filter(({ isGatheredAtPeak }) => isGatheredAtPeak);
  const bytes = atPeak.reduce((sum, { gatheredBytes }) => sum + gatheredBytes, 0);
  expect(bytes).toBe(heldPeak(simulateFsdp(trace, plan).trace).bytesByCategory.unshardedParameter ?? 0);
});

it("tells of each unit from when to when it is gathered: of a layer in its forward pass, and in its backward pass, of each step", () => {
  const units = summarizeUnits(trace, parseShardingPlan("world=4"));
  const layer = units.find(({ modules }) => modules.includes("Transformer.layers.1"))!;
  expect(layer.spans.map(({ from }) => from.split(" ")[0])).toEqual(["forward", "backward", "forward", "backward"]);
  layer.spans.forEach(({ fromOp, toOp }, i) => {
    expect(toOp).toBeGreaterThan(fromOp);
    if (i > 0) expect(fromOp).toBeGreaterThan(layer.spans[i - 1].toOp);
  });
  for (const format of outputFormats) expect(format.write(unitsDocument(units), {})).toContain("Transformer.layers.1");
});
