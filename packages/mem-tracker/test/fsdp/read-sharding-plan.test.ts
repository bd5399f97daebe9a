import { describe, expect, it } from "vitest";
import { parseShardingPlan, readShardingPlan, writeShardingPlan } from "../../src/fsdp/index.js";

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
    ['{"schema": "sharding-plan/1"}', "expected a world size of at least 1"],
  ])("is refused by its field: %s", (text, message) => {
    expect(() => readShardingPlan(text)).toThrow(
      expect.objectContaining({ code: "SHARDING_PLAN", message: expect.stringContaining(message) }),
    );
  });
});
