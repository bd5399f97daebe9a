import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldensOf } from "@remat/testkit";
import { Category, TraceBuilder } from "@remat/trace";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import * as layers from "@tensorflow/tfjs-layers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SACEstimator, saveTradeoffGraphs } from "../../src/estimator/index.js";

const folder = mkdtempSync(join(tmpdir(), "remat-sac-"));
beforeAll(() => tf.setBackend("cpu"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Two dense layers with dropout between; the ops of a step are few enough to name them all. */
function mlp(): layers.Sequential {
  return layers.sequential({
    name: "mlp",
    layers: [
      layers.layers.dense({ name: "first", units: 8, activation: "relu", inputShape: [4] }),
      layers.layers.dropout({ name: "drop", rate: 0.5 }),
      layers.layers.dense({ name: "second", units: 2 }),
    ],
  });
}

async function estimated(mode: string, backend?: "real" | "fake:cpu"): Promise<SACEstimator> {
  const estimator = new SACEstimator({ device: "cpu", grouping: "none" });
  return estimator.estimate(
    mode,
    ({ track, record }) => {
      const model = track(mlp(), "mlp");
      const x = tf.ones([16, 4]);
      const { value, grads } = record(() =>
        tf.variableGrads(() => tf.sum(model.apply(x, { training: true }) as tf.Tensor)),
      );
      tf.dispose([value, grads, x]);
      model.dispose();
    },
    backend === undefined ? {} : { backend },
  );
}

describe("SACEstimator", () => {
  it("gives the same statistics in fake mode and in a real run", async () => {
    const fake = await estimated("operator-level-cost-model", "fake:cpu");
    const real = await estimated("operator-level-cost-model", "real");
    const stats = fake.sacModStats.get("mlp");
    expect([...fake.sacModStats.keys()]).toEqual(["mlp"]);
    expect(real.sacModStats).toEqual(fake.sacModStats);
    expect(real.sacModGreedyOrderMeta).toEqual(fake.sacModGreedyOrderMeta);
    expect(stats?.forceStoreRandom).toBe(false);
    expect(fake.displayModulewiseSacStats({ depth: 1, tabular: true })).toMatchSnapshot();
  });

  it("times ops on the current backend in benchmark mode, with the same memory", async () => {
    const roofline = await estimated("operator-level-cost-model", "fake:cpu");
    const measured = await estimated("operator-level-benchmark", "real");
    expect(measured.sacModStats.get("mlp")?.memoryBytes).toEqual(roofline.sacModStats.get("mlp")?.memoryBytes);
    const total = measured.sacModStats.get("mlp")?.runtimesMs.reduce((sum, ms) => sum + ms, 0) ?? 0;
    expect(total).toBeGreaterThan(0);
  });

  it("refuses any other mode, naming both", async () => {
    await expect(estimated("operator-level-guess")).rejects.toThrow(
      /operator-level-cost-model.*operator-level-benchmark/,
    );
  });

  it("refuses results on more than one accelerator", () => {
    const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
    const module = b.module({ fqn: "net", kind: "Net", leaf: false });
    const call = b.call(module, -1, true);
    b.enterModule(call);
    const outputs = ["cuda:0", "cuda:1"].map((device) =>
      b.tensor({ storage: b.allocate(4, device, Category.activation), dtype: "float32", shape: [1] }),
    );
    b.op({ name: "aten.split.default", outputs, stack: b.stackOfCall(call) });
    b.exitModule(call);
    expect(() => new SACEstimator().take(b.build())).toThrow(
      "has results on cuda:0 and cuda:1, and only one accelerator is supported",
    );
  });

  it("says so when the function records nothing", async () => {
    await expect(
      new SACEstimator().estimate("operator-level-cost-model", ({ track }) => void track(mlp())),
    ).rejects.toThrow("recorded nothing");
  });

  it("leaves the engine as it was, after an error too", async () => {
    const before = { ...tf.memory() };
    const fail = new SACEstimator().estimate("operator-level-cost-model", ({ track, record }) => {
      const model = track(mlp());
      record(() => {
        model.apply(tf.ones([2, 4]));
        throw new Error("in the middle");
      });
    });
    await expect(fail).rejects.toThrow("in the middle");
    expect(tf.getBackend()).toBe("cpu");
    expect(tf.memory()).toEqual(before);
  });

  it("has PyTorch's in-place pairs, views and random ops for the small model of its test", () => {
    const [{ golden }] = goldensOf("sac-oracle/1").filter(({ file }) => file.name === "sac_01_foo");
    const { sacModStats } = new SACEstimator().take(priceTrace(readPyTorchTrace(golden), deviceSpec("a100")));
    const foo = sacModStats.get("Foo");
    expect(Array.from(foo?.viewLikeOps ?? [])).toEqual([0]);
    expect(Array.from(foo?.randOps ?? [])).toEqual([]);
    expect(Array.from(foo?.inplaceOps ?? [], (op, i) => [op, foo?.inplaceParents[i]])).toEqual([
      [2, 1],
      [3, 1],
      [4, 1],
    ]);
  });
});

describe("saveTradeoffGraphs", () => {
  it("writes a picture of each module's trade-off under a name that a file system takes", async () => {
    const estimator = await estimated("operator-level-cost-model", "fake:cpu");
    const files = await estimator.pwlfSacTradeoffCurve({ nSegments: 2, saveTradeoffGraphsTo: folder });
    expect(files.map((file) => file.slice(folder.length + 1))).toEqual(["mlp.svg", "mlp.png"]);
    expect(readFileSync(join(folder, "mlp.svg"), "utf8")).toMatchSnapshot();
    const tradeOff = estimator.sacModTradeoffStats.get("mlp");
    if (tradeOff === undefined) throw new Error("no trade-off");
    const odd = join(folder, "odd");
    await saveTradeoffGraphs(
      ["../escape", "a/b", "a:b", "con", "</title><script>"].map((fqn) => ({ fqn, tradeOff })),
      odd,
    );
    const names = readdirSync(odd);
    expect(new Set(names).size).toBe(10);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]*\.(svg|png)$/);
    expect(readdirSync(folder).sort()).toEqual(["mlp.png", "mlp.svg", "odd"]);
    for (const name of names.filter((file) => file.endsWith(".svg")))
      expect(readFileSync(join(odd, name), "utf8")).not.toContain("<script>");
  });
});
