import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseShardingPlan } from "../src/index.js";
import { shardRows, shardSize } from "../src/shard-size.js";

describe("parseShardingPlan", () => {
  const bf16 = { param: "bfloat16", reduce: "float32" };

  it.each([
    ["world=8", { worldSize: 8 }],
    ["world=8,wrap=", { worldSize: 8, wrap: [] }],
    ["world=8,no-wrap", { worldSize: 8, wrap: [] }],
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
    [
      "world=8,replicas=2,wrap='layers.*'(reshard=2),root(no-reshard)",
      {
        worldSize: 8,
        replicas: 2,
        wrap: [],
        groups: [
          { modules: ["layers.*"], reshardAfterForward: 2 },
          { modules: [""], reshardAfterForward: false },
        ],
      },
    ],
    [
      "world=4,wrap='layers.*',wrap=a+'b'(bf16,reduce=bfloat16),forward-prefetch=2,backward-prefetch=b>a,backward-prefetch='c'>b+a",
      {
        worldSize: 4,
        wrap: ["layers.*"],
        groups: [{ modules: ["a", "b"], together: true, mixedPrecision: { param: "bfloat16", reduce: "bfloat16" } }],
        forwardPrefetch: 2,
        backwardPrefetch: { b: ["a"], c: ["b", "a"] },
      },
    ],
    [
      "world=4,no-reshard-after-backward,sync-last,no-unshard-in-backward=embed,ignore=lora.**,as-tracked,root()",
      {
        worldSize: 4,
        reshardAfterBackward: false,
        gradientSync: "last",
        keptShardedInBackward: ["embed"],
        ignored: ["lora.**"],
        asTracked: true,
        groups: [{ modules: [""] }],
      },
    ],
  ])("reads %s", (text, expected) => expect(parseShardingPlan(text)).toEqual(expected));

  const unknownItem = (item: string): string =>
    `unknown setting "${item}". Expected world=…, replicas=…, rank=…, wrap=…, ignore=…, forward-prefetch=…, backward-prefetch=…, no-unshard-in-backward=…, checkpoint=…, micro-batches=…, zero=…, bucket=…, stored=…, own-casts=…, root(…), reshard, no-reshard, bf16, fp16, reshard=…, param=…, reduce=…, output=…, cast=…, no-reshard-after-backward, offload, sync-last, as-tracked, no-wrap, ddp, bucket-view.`;

  it.each([
    ["", 'world= is missing in "". Add the number of ranks, such as world=8.'],
    ["wrap=a", 'world= is missing in "wrap=a". Add the number of ranks, such as world=8.'],
    ["world=0", "the world size is 0, and must be a whole number of at least 1. Set the number of ranks: world=8."],
    ["world=-1", 'expected a whole number in world=N, found "-1".'],
    ["world=8,rank=8", "expected a rank from 0 to 7, found 8."],
    ["world=8,bf32", 'unknown setting "bf32". Do you mean bf16?'],
    [
      "world=8,tp=2",
      'tensor parallelism ("tp=2") is not supported in simulations. Record a run that uses it; remat memory shows the memory of its rank.',
    ],
    [
      "world=8,tensor-parallel=2",
      'tensor parallelism ("tensor-parallel=2") is not supported in simulations. Record a run that uses it; remat memory shows the memory of its rank.',
    ],
    [
      "world=8,pipeline=4",
      'pipeline parallelism ("pipeline=4") is not supported in simulations. Record a run that uses it; remat memory shows the memory of its rank.',
    ],
    ["world=4,world=8", 'world= is given twice in "world=4,world=8". Remove one of them.'],
    ["world=8,wrap=a,no-wrap", 'wrap= and no-wrap are both given in "world=8,wrap=a,no-wrap". Remove one of them.'],
    ["world=8,wraps=a", 'unknown setting "wraps=a". Do you mean wrap=, rank=?'],
    [
      "world=8,replicas=3",
      "replicas=3 does not divide the 8 ranks. For example, world=8,replicas=2 shards over 4 ranks, twice.",
    ],
    [
      "world=8,wrap=a(reshard=3)",
      "reshard=3 does not divide the 8 ranks of a shard. Use a divisor, or reshard for all ranks.",
    ],
    [
      "world=8,replicas=2,reshard=8",
      "reshard=8 does not divide the 4 ranks of a shard. Use a divisor, or reshard for all ranks.",
    ],
    [
      "world=8,wrap=a(offload)",
      'unknown setting "offload" of "a". Expected reshard, no-reshard, bf16, fp16, reshard=…, param=…, reduce=…, output=…, cast=….',
    ],
    ["world=8,forward-prefetch=x", 'expected a whole number in forward-prefetch=N, found "x".'],
    ["world=8,reduce=int8", 'expected a dtype of float16, bfloat16, float32, float64, found "int8".'],
    ["world=8,cast=head", 'expected cast=MODULE:DTYPE, found "cast=head".'],
    ["world=8,toString", unknownItem("toString")],
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
