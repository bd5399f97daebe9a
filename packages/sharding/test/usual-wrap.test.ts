import { TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { parseShardingPlan, simulateFsdp, usualWrap } from "../src/index.js";
import { blocksModel } from "./blocks-model.js";

/** A root with modules of these names, each reading a parameter; those of one `weight` share it. */
function modelOf(modules: readonly (readonly [fqn: string, weight: number])[]) {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const tensors = new Map(
    [...new Set(modules.map(([, weight]) => weight))].map((weight) => [
      weight,
      b.tensor({ storage: b.allocate(16, "cpu", 1), dtype: "float32", shape: [4] }),
    ]),
  );
  const root = b.module({ fqn: "net", kind: "Net", leaf: false });
  b.moduleWeights(root, [...tensors.values()], []);
  const call = b.call(root, -1, true);
  b.enterModule(call);
  for (const [fqn, weight] of modules) {
    const module = b.module({ fqn, kind: "Dense", leaf: true });
    b.moduleWeights(module, [tensors.get(weight)!], []);
    const inner = b.call(module, call, true);
    b.enterModule(inner);
    b.exitModule(inner);
  }
  b.exitModule(call);
  return b.build();
}

describe("modules wrapped by default", () => {
  it.each([
    [
      "the blocks that repeat",
      [
        ["net.stem", 0],
        ["net.blocks.0", 1],
        ["net.blocks.1", 2],
      ],
      ["blocks.*"],
    ],
    [
      "each outermost module, without blocks",
      [
        ["net.a", 0],
        ["net.b", 1],
      ],
      ["*"],
    ],
    [
      "the root alone, where modules share a parameter",
      [
        ["net.a", 0],
        ["net.b", 0],
      ],
      [],
    ],
  ] as const)("is %s", (_what, modules, expected) => {
    expect(usualWrap(modelOf(modules))).toEqual(expected);
  });

  it("is what a simulation takes that is told nothing, and not what it is told to wrap", () => {
    const trace = blocksModel();
    const { plan, groups } = simulateFsdp(trace, parseShardingPlan("world=4"));
    expect(plan.wrap).toEqual(["blocks.*"]);
    expect(groups).toEqual(simulateFsdp(trace, { worldSize: 4, wrap: ["blocks.*"] }).groups);
    const alone = simulateFsdp(trace, parseShardingPlan("world=4,wrap="));
    expect(alone.groups).toHaveLength(1);
    expect(alone.trace.header.notes?.at(-1)).toContain("1 parameter group (the root only)");
  });
});
