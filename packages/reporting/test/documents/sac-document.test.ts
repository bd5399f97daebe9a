import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { sacDocument } from "../../src/documents/index.js";
import { outputFormats, writeDocument } from "../../src/formats/index.js";
import { summarizeSac } from "../../src/index.js";
import { freedShares } from "../../src/summarize-sac.js";

const formats = outputFormats.map(({ name }) => name);

function goldenTrace(name: string): Trace {
  const file = goldenFiles().find((golden) => golden.name === name);
  if (file === undefined) throw new Error(`no golden file ${name}`);
  return priceTrace(readPyTorchTrace(readGolden(file)), deviceSpec("a100"));
}

const transformer = goldenTrace("sac_02_transformer");

describe("summarizeSac", () => {
  it("lists modules with children down to a depth, in the order of their first calls", () => {
    const fqns = (depth: number) => summarizeSac(transformer, { depth }).modules.map((module) => module.fqn);
    expect(fqns(1)).toEqual(["Transformer"]);
    expect(fqns(3)).toEqual(["Transformer", ...[0, 1, 2, 3].map((i) => `Transformer.layers.${i}`)]);
    expect(fqns(99).slice(0, 4)).toEqual([
      "Transformer",
      "Transformer.layers.0",
      "Transformer.layers.0.attention",
      "Transformer.layers.0.feed_forward",
    ]);
  });

  it("agrees with PyTorch's totals", () => {
    const golden = readGolden(goldenFiles().find((file) => file.name === "sac_02_transformer") as never);
    const asPytorch = priceTrace(readPyTorchTrace(golden), deviceSpec("a100"), { asPytorch: true });
    for (const module of summarizeSac(asPytorch, { depth: 99 }).modules) {
      const expected = golden["results"].tradeoff_n_segments_2[module.fqn];
      expect(module.memoryBytes, module.fqn).toBe(expected.sac_memory);
      expect(module.runtimeMs / expected.sac_runtime, module.fqn).toBeCloseTo(1, 12);
    }
  });

  it("prices the memory freed along the greedy order: dearer the more there is, all of it the whole forward pass at most", () => {
    for (const { recomputeShare, tradeOff } of summarizeSac(transformer, { depth: 99 }).modules) {
      expect(recomputeShare).toHaveLength(freedShares.length);
      for (let i = 1; i < recomputeShare.length; i++)
        expect(recomputeShare[i]).toBeGreaterThanOrEqual(recomputeShare[i - 1]);
      const { discardedMemory, recomputationTime } = tradeOff.tradeoffCurve;
      const brute = freedShares.map((share) =>
        Math.min(...Array.from(recomputationTime).filter((_, i) => discardedMemory[i] - 0.01 >= share - 1e-9)),
      );
      expect(recomputeShare).toEqual(brute);
    }
  });

  it("refuses a module that is not there, or that has no modules in it, naming others", () => {
    expect(() => summarizeSac(transformer, { module: "Transformer.layer" })).toThrow(
      "unknown module Transformer.layer. Name one of",
    );
    expect(() => summarizeSac(transformer, { module: "Transformer.norm" })).toThrow(
      "Transformer.norm (LayerNorm) contains no modules",
    );
  });
});

describe("sacDocument", () => {
  const summary = summarizeSac(transformer, { module: "Transformer.layers.1", pricedFor: "a100" });

  it.each(formats.filter((format) => format !== "json"))("writes %s", (format) => {
    expect(writeDocument(sacDocument(summary, { ops: true }), format)).toMatchSnapshot();
  });

  it("writes json", () => {
    const rounded = (_key: string, value: unknown): unknown =>
      typeof value === "number" ? Number(value.toPrecision(9)) : value;
    expect(
      JSON.stringify(JSON.parse(writeDocument(sacDocument(summary), "json"), rounded), undefined, 1),
    ).toMatchSnapshot();
  });
});
