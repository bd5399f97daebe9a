import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { Phase, RuntimeSource, type Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { CheckpointedRun, fullyShardCode, parseCheckpoint, parseShardingPlan, simulateFsdp } from "../src/index.js";

const file = readFileSync(new URL("./fixtures/plain-tf.json.gz", import.meta.url));
const run = JSON.parse(gunzipSync(file).toString());
const trace = readPyTorchTrace(run);

describe("simulateFsdp refuses", () => {
  it.each([
    [
      "wrap=layers.0+layers.1,wrap=layers.1",
      /^sharding plan: Transformer\.layers\.1 is in two groups: with .*layers\.0/,
    ],
    [
      "wrap=layers.1,wrap=layers.0+layers.1",
      /^sharding plan: Transformer\.layers\.1 is in two groups: with .*layers\.0/,
    ],
    ["wrap=layers.0+layers.1,wrap=layers.1+layers.2", /layers\.1 is in two groups/],
    [
      "wrap=layers.0+layers.0.attention",
      /layers\.0\.attention is inside Transformer\.layers\.0, so one group cannot name both/,
    ],
    ["wrap=layers.0(no-reshard,reshard=2)", /no-reshard and reshard=2 apply to the same modules/],
    ["reshard,no-reshard", /reshard and no-reshard apply/],
    ["bf16,param=float16", /param=bfloat16 and param=float16 apply/],
    [
      "wrap=layers.0(bf16),wrap=layers.1(fp16)",
      /layers\.0 in bfloat16 and Transformer\.layers\.1 in float16: only one dtype besides the parameters' own is supported\. Use the same param= for both: both dtypes take 2 bytes per element\./,
    ],
    ["wrap=layers.0(bf16),wrap=layers.1(param=float64)", /layers\.1 in float64: .*Use the same param= for both\./],
    ["bf16,fp16", /param=bfloat16 and fp16 apply/],
    ["wrap=layers.*(reshard", /"\(" is not closed in "world=4,wrap=layers\.\*\(reshard"/],
    ["wrap='layers.*", /a quote ' is not closed/],
    ["wrap=layers.0)", /"\)" closes nothing/],
    [
      "wrap=layers.*,no-unshard-in-backward=layers.0.attention",
      /layers\.0\.attention is not a group, so it cannot keep its parameters sharded in the backward pass\. Use one of/,
    ],
    ["offloda", /unknown setting "offloda"\. Do you mean offload\?/],
    ["wrap=layers.[4-6]", /no module is named "layers\.\[4-6\]"/],
  ])("what cannot be, or is said twice: %s", (items, message) => {
    expect(() => simulateFsdp(trace, parseShardingPlan(`world=4,${items}`))).toThrow(message);
  });

  it("a group of one of two modules that share a parameter, which PyTorch refuses, too", () => {
    const tied = readPyTorchTrace(
      JSON.parse(gunzipSync(readFileSync(new URL("./fixtures/float32-rms-norm.json.gz", import.meta.url))).toString()),
    );
    const simulate = (items: string): unknown => simulateFsdp(tied, parseShardingPlan(`world=4,${items}`));
    expect(() => simulate("wrap=head")).toThrow(
      /^sharding plan: head and emb share a parameter .*wrap=emb\+head, or leave head to the root/,
    );
    expect(() => simulate("wrap=emb,wrap=norm")).toThrow(/emb and head share/);
    expect(simulate("wrap=emb+head")).toBeDefined();
    expect(simulate("wrap=norm")).toBeDefined();
  });

  it("a run of one of several ranks, by the ops that show it", () => {
    const sharded = structuredClone(run);
    const product = sharded.funcs.find(({ name }: { name: string }) => name === "aten.addmm.default");
    product.name = "c10d._allgather_base_.default";
    expect(() => simulateFsdp(readPyTorchTrace(sharded), parseShardingPlan("world=4"))).toThrow(
      /is from one of several ranks: it has ops such as c10d\._allgather_base_/,
    );
  });
});

/** The trace as if each op had been measured. */
function timed(run: Trace): Trace {
  const { count, flops, bytesRead, bytesWritten } = run.ops;
  return run.withRuntimes({
    runtimeMs: new Float64Array(count).fill(1),
    runtimeSource: new Uint8Array(count).fill(RuntimeSource.measured),
    runtimeSpreadMs: new Float64Array(count).fill(Number.NaN),
    runtimeRuns: new Int32Array(count),
    flops,
    bytesRead,
    bytesWritten,
  });
}

describe("parts of modules", () => {
  const parts = [[0, 12]] as const;
  const checkpoint = [{ modules: ["layers.0"], parts }];

  it("run again on one device, and are refused where they cannot, or are sharded", () => {
    const runs = new CheckpointedRun(trace);
    expect(runs.unitsOf(checkpoint)).toEqual([{ fqn: "Transformer.layers.0", saved: [], ops: [0, 12] }]);
    expect(runs.under(checkpoint).hasPhase(Phase.recompute)).toBe(true);
    // In what a device computes the host's part is not, and so neither is what checkpointing takes of the host.
    expect(runs.bookkeepingMs(checkpoint)).toBe(0);
    expect(new CheckpointedRun(timed(trace)).bookkeepingMs(checkpoint)).toBeGreaterThan(0);
    expect(() => runs.unitsOf([{ modules: ["layers.0"], parts: [[5000, 5001]] }])).toThrow(
      "the part [5000, 5001] of Transformer.layers.0 cannot be recomputed: it has no ops in that range",
    );
    for (const refuse of [simulateFsdp, fullyShardCode])
      expect(() => refuse(trace, { worldSize: 4, checkpoint })).toThrow("only parts of layers.0 are checkpointed");
  });
});

describe("patterns of modules", () => {
  const unitsOf = (text: string) => new CheckpointedRun(trace).unitsOf(parseCheckpoint(text)).map(({ fqn }) => fqn);

  it.each([
    ["layers.[0-2]", [0, 1, 2]],
    ["layers.[13]", [1, 3]],
    ["checkpoint=layers.0,checkpoint=layers.3", [0, 3]],
  ])("%s names modules, as rows of a comparison do", (text, layers) =>
    expect(unitsOf(text)).toEqual(layers.map((i) => `Transformer.layers.${i}`)),
  );

  it("takes a range that goes down for a name", () =>
    expect(() => unitsOf("layers.[2-0]")).toThrow(/no module is named/));
});
