import { deviceSpec } from "@remat/runtime-estimator";
import { describe, expect, it } from "vitest";
import { type CompiledModel, planTorchCompile } from "../../src/executors/torch-compile/plan-torch-compile.js";
import { compiledCases } from "./compiled-models.js";

const device = deviceSpec("a100");
const named = (name: string): CompiledModel => compiledCases.find((one) => one.name === name)!.model;

describe("saved bytes and peak of a compiled step", () => {
  it.each(compiledCases.map((one) => [one.name, one] as const))(
    "is under each budget what it does in PyTorch, to the byte: %s",
    (_, { model, modelBytes, measured }) => {
      const { points } = planTorchCompile(model, device);
      const predicted = points.map(({ activationMemoryBudget: budget, savedBytes, peakBytes, staticBytes }) => ({
        ...{ budget, savedBytes },
        peakBytes: peakBytes + modelBytes - staticBytes,
      }));
      expect(predicted).toEqual(measured);
    },
  );

  it("is saved less, the smaller the budget, and takes no fewer FLOPs", () => {
    for (const { model } of compiledCases) {
      const { points } = planTorchCompile(model, device);
      const saved = points.map(({ savedBytes }) => savedBytes);
      expect(saved).toEqual(saved.toSorted((a, b) => b - a));
      const flops = model.partitions.map(({ graphs }) =>
        graphs
          .flatMap(({ forward, backward = [] }) => [...forward, ...backward])
          .reduce((sum, node) => sum + (node.flops ?? 0), 0),
      );
      expect(flops).toEqual(flops.toSorted((a, b) => a - b));
    }
  });

  it("knows weights that no input is, and what a model returns", () => {
    const [one, all] = ["broken, as aot_eager", "broken and all returned, as aot_eager"].map((name) =>
      planTorchCompile(named(name), device),
    );
    const weights = 4 * (32 * 64 + 64 + 64 * 500 + 500);
    expect([one.stock.staticBytes, one.stock.inputBytes]).toEqual([weights, 4 * 256 * 32]);
    expect(all.stock.peakBytes - one.stock.peakBytes).toBe(4 * 256 * 500);
  });
});

describe("the budget for activations that is chosen", () => {
  it.each(compiledCases.map((one) => [one.name, one.model] as const))(
    "is within any budget the quickest that is recorded: %s",
    (_, model) => {
      const { points } = planTorchCompile(model, device);
      for (const { peakBytes: budgetBytes } of points)
        for (const bytes of [budgetBytes - 1, budgetBytes, budgetBytes + 1]) {
          const { found, least } = planTorchCompile(model, device, { budget: { bytes } });
          const within = points.filter(({ peakBytes }) => peakBytes <= bytes);
          if (within.length === 0) {
            expect(found).toBeUndefined();
            expect(least.peakBytes).toBe(Math.min(...points.map(({ peakBytes }) => peakBytes)));
          } else {
            expect(within).toContainEqual(found);
            expect(found!.stepMs).toBe(Math.min(...within.map(({ stepMs }) => stepMs)));
          }
        }
    },
  );

  it("holds least for the overhead that is allowed, and is none where it would have to take more", () => {
    const model = named("gpt2, as Inductor");
    const { points, stock } = planTorchCompile(model, device);
    for (const { overhead } of points) {
      const quick = points.filter((one) => one.overhead <= overhead);
      const { found } = planTorchCompile(model, device, { maxOverhead: overhead });
      expect(found!.peakBytes).toBe(Math.min(...quick.map(({ peakBytes }) => peakBytes)));
    }
    const budget = { bytes: stock.peakBytes - 1 };
    expect(planTorchCompile(model, device, { budget, maxOverhead: 0 }).found).toBeUndefined();
  });

  it("is on the front, in which none is as good in both as another", () => {
    for (const { model } of compiledCases) {
      const { points, tradeOffs } = planTorchCompile(model, device);
      for (const point of points) {
        const beats = tradeOffs.filter((one) => one.peakBytes <= point.peakBytes && one.stepMs <= point.stepMs);
        expect(beats.length).toBeGreaterThan(0);
        if (tradeOffs.includes(point)) expect(beats).toEqual([point]);
      }
    }
  });

  it("is refused of graphs of one budget, and of graphs without gradients", () => {
    const model = named("layers, as Inductor");
    const [stock] = model.partitions;
    const hint = /remat.export_graphs\(\.\.\., budgets=/;
    expect(() => planTorchCompile({ ...model, partitions: [stock] }, device)).toThrow(hint);
    expect(() => planTorchCompile({ ...model, partitions: [{ ...stock, budget: undefined }] }, device)).toThrow(hint);
    const partitions = model.partitions.map(({ budget, graphs }) => ({
      budget,
      graphs: graphs.map(({ forward }) => ({ forward, backward: undefined })),
    }));
    expect(() => planTorchCompile({ ...model, partitions }, device)).toThrow(/no backward graph/);
  });
});
