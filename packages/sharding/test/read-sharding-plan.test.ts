import { describe, expect, it } from "vitest";
import { parseShardingPlan, readCheckpoint, readShardingPlan, writeShardingPlan } from "../src/index.js";

describe("a sharding plan in a file", () => {
  it.each([
    "world=8",
    "world=8,replicas=2,rank=3,wrap='layers.*'(reshard=2,bf16),root(no-reshard,output=float32),offload",
    "world=4,wrap=a+b,forward-prefetch=2,backward-prefetch=c>b+a,no-reshard-after-backward,no-unshard-in-backward=e,sync-last,ignore=l,as-tracked,cast=o:float32",
    "world=4,checkpoint='layers.*'(save=mm+addmm#1),checkpoint=a+b",
  ])("is what the text says: %s", (text) => {
    const plan = parseShardingPlan(text);
    expect(readShardingPlan(writeShardingPlan(plan))).toEqual(plan);
  });

  it.each([
    ["{", "not JSON"],
    ["[]", "expected an object."],
    ['{"schema": "sharding-plan/1", "world": 8}', 'found "world".'],
    ['{"schema": "sharding-plan/1", "worldSize": "8"}', 'expected a number as "worldSize", found "8".'],
    ['{"schema": "sharding-plan/2", "worldSize": 8}', 'expected "schema": "sharding-plan/1", found "sharding-plan/2".'],
    ['{"schema": "sharding-plan/1", "worldSize": 8, "groups": [{"together": true}]}', 'expected "modules" in each'],
    ['{"schema": "sharding-plan/1", "worldSize": 8, "groups": [{"modules": ["a"], "bf16": true}]}', 'found "bf16"'],
    ['{"schema": "sharding-plan/1", "worldSize": 8, "mixedPrecision": {"param": 16}}', 'expected text as "param"'],
    ['{"schema": "sharding-plan/1", "worldSize": 8, "forwardPrefetch": {"a": "b"}}', '"forwardPrefetch"'],
    [
      '{"schema": "sharding-plan/1", "worldSize": 8, "checkpoint": [{"save": ["mm"]}]}',
      'expected "modules" in each of "checkpoint"',
    ],
    ['{"schema": "sharding-plan/1"}', "and must be a whole number of at least 1"],
    [
      '{"schema": "sharding-plan/1", "worldSize": 1e18}',
      "the world size is 1000000000000000000, and the limit is 1048576",
    ],
  ])("is refused by its field: %s", (text, message) => {
    expect(() => readShardingPlan(text)).toThrow(
      expect.objectContaining({ code: "SHARDING_PLAN", message: expect.stringContaining(message) }),
    );
  });
});

describe("checkpointed modules in a file", () => {
  it("is rules, or a policy of any version", () => {
    const modules = [{ modules: ["layers.*"], save: ["mm"] }, { modules: ["norm"] }];
    expect(readCheckpoint(JSON.stringify({ schema: "checkpoint/1", checkpoint: modules }))).toEqual(modules);
    const op = "aten.mm.default";
    const found = [{ modules: ["layers.0"], save: [`${op}#1`] }, { modules: ["norm"] }];
    const second = { "layers.0": { type: "Layer", parameters: [], save: [{ op, ordinal: 1 }] }, norm: { save: [] } };
    expect(readCheckpoint(JSON.stringify({ format: "remat-pytorch-policy/2", modules: second }))).toEqual(found);
    const third = { ...second, norm: { save: [], parts: [[0, 3]] } };
    expect(readCheckpoint(JSON.stringify({ format: "remat-pytorch-policy/4", modules: third }))).toEqual([
      found[0],
      { modules: ["norm"], parts: [[0, 3]] },
    ]);
    const first = {
      "layers.0": [
        { op, ordinal: 0, policy: "PREFER_RECOMPUTE" },
        { op, ordinal: 1, policy: "MUST_SAVE" },
      ],
      norm: [],
    };
    expect(readCheckpoint(JSON.stringify({ format: "remat-pytorch-policy/1", modules: first }))).toEqual(found);
  });

  it.each([
    ["[", "not JSON"],
    ['{"schema": "checkpoint/1"}', 'expected at least one entry of "checkpoint"'],
    ['{"schema": "checkpoint/1", "checkpoint": [{"save": ["mm"]}]}', 'each with "modules"'],
    ['{"schema": "checkpoint/1", "checkpoint": [{"modules": "a"}]}', 'a list of names as "modules"'],
    ['{"checkpoint": [{"modules": ["a"]}]}', 'expected "schema": "checkpoint/1"'],
    ['{"format": "remat-pytorch-policy/2"}', 'expected an object as "modules"'],
    ['{"format": "remat-pytorch-policy/4", "modules": {"a": {"save": [], "parts": [1]}}}', "expected pairs of places"],
    ['{"format": "remat-pytorch-policy/2", "modules": {"a": {}}}', 'expected a list of ops of module "a"'],
  ])("is refused by its field: %s", (text, message) => {
    expect(() => readCheckpoint(text)).toThrow(
      expect.objectContaining({ code: "SHARDING_PLAN", message: expect.stringContaining(message) }),
    );
  });
});
