import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseShardingPlan, shardRows, shardSize } from "../../src/fsdp/index.js";

describe("parseShardingPlan", () => {
  const bf16 = { param: "bfloat16", reduce: "float32" };

  it.each([
    ["world=8", { worldSize: 8 }],
    ["world=8,wrap=", { worldSize: 8, wrap: [] }],
    [
      "world=8,wrap='layers.*',reshard,bf16,offload",
      { worldSize: 8, wrap: ["layers.*"], reshardAfterForward: true, mixedPrecision: bf16, cpuOffload: true },
    ],
    [
      ' world=2, rank=1 , wrap="a,b",wrap=c.**,no-reshard',
      { worldSize: 2, rank: 1, wrap: ["a,b", "c.**"], reshardAfterForward: false },
    ],
    ["world=1,bf16,reduce=bfloat16", { worldSize: 1, mixedPrecision: { param: "bfloat16", reduce: "bfloat16" } }],
    [
      "world=4,fp16,output=float32,cast=output:float32,cast='head.*:float32'",
      {
        worldSize: 4,
        mixedPrecision: {
          param: "float16",
          reduce: "float32",
          output: "float32",
          explicitCasts: [
            { after: "output", dtype: "float32" },
            { after: "head.*", dtype: "float32" },
          ],
        },
      },
    ],
  ])("reads %s", (text, expected) => expect(parseShardingPlan(text)).toEqual(expected));

  it.each([
    ["", 'expected world=N in "", found none.'],
    ["wrap=a", 'expected world=N in "wrap=a", found none.'],
    ["world=0", "expected a world size of at least 1, found 0. Say over how many ranks to shard: world=8."],
    ["world=-1", 'expected a whole number in world=N, found "-1".'],
    ["world=8,rank=8", "expected a rank from 0 to 7, found 8."],
    [
      "world=8,bf32",
      'unknown item "bf32": expected world=…, rank=…, wrap=…, reduce=…, output=…, cast=…, reshard, no-reshard, bf16, fp16, offload.',
    ],
    [
      "world=8,wraps=a",
      'unknown item "wraps=a": expected world=…, rank=…, wrap=…, reduce=…, output=…, cast=…, reshard, no-reshard, bf16, fp16, offload.',
    ],
    ["world=8,reduce=int8", 'expected a dtype of float16, bfloat16, float32, float64, found "int8".'],
    ["world=8,cast=head", 'expected cast=MODULE:DTYPE, found "cast=head".'],
    [
      "world=8,toString",
      'unknown item "toString": expected world=…, rank=…, wrap=…, reduce=…, output=…, cast=…, reshard, no-reshard, bf16, fp16, offload.',
    ],
  ])("refuses %j", (text, message) =>
    expect(() => parseShardingPlan(text)).toThrow(
      expect.objectContaining({ code: "SHARDING_PLAN", message: `sharding plan: ${message}` }),
    ),
  );
});

describe("shards", () => {
  it("cover a parameter, each row once, and are as torch.chunk makes them", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: 1, max: 40 }), (rows, worldSize) => {
        const shards = Array.from({ length: worldSize }, (_, rank) => shardRows(rows, worldSize, rank));
        expect(shards.reduce((a, b) => a + b, 0)).toBe(rows);
        const most = Math.ceil(rows / worldSize);
        const full = most === 0 ? 0 : Math.floor(rows / most);
        shards.forEach((shard, rank) =>
          expect(shard).toBe(rank < full ? most : rank === full ? rows - full * most : 0),
        );
      }),
    );
  });

  it("are padded to the size of the first", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 3 }),
        fc.integer({ min: 1, max: 12 }),
        (shape, worldSize) => {
          const sizes = Array.from({ length: worldSize }, (_, rank) => shardSize(shape, worldSize, rank));
          const elements = shape.reduce((product, n) => product * n, 1);
          expect(sizes.reduce((sum, size) => sum + size.elements, 0)).toBe(elements);
          expect(new Set(sizes.map((size) => size.paddedElements))).toEqual(new Set([sizes[0].elements]));
          expect(sizes[0].paddedElements * worldSize).toBeGreaterThanOrEqual(elements);
        },
      ),
    );
  });
});
