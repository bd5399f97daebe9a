import { peakMoment } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { sacStats } from "@remat/sac-core";
import { goldenFiles, readGolden } from "@remat/testkit";
import { type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import {
  type ComparedRun,
  compareTable,
  compareView,
  formatChange,
  moduleTreeView,
  writeViewTable,
} from "../src/index.js";

const run = (name: string, trace: Trace): ComparedRun => ({
  name,
  trace,
  modules: moduleTreeView(trace, sacStats(trace)),
  peak: peakMoment(trace),
});

const golden = goldenFiles().find(({ name }) => name === "mem_02_transformer_adam")!;
const recorded = readPyTorchTrace(readGolden(golden));
const a100 = run("a100", priceTrace(recorded, deviceSpec("a100")));
const h100 = run("h100", priceTrace(recorded, deviceSpec("h100")));

describe("a comparison", () => {
  it("of a run with itself shows no difference", () => {
    const view = compareView(a100, a100);
    for (const { value } of [...view.totals, ...view.categories]) {
      expect(value.difference).toBe(0);
      expect(value.before).toBe(value.after);
    }
    expect(view.modules.map(({ fqn }) => fqn)).toEqual(a100.modules.nodes.map(({ fqn }) => fqn));
    expect(
      view.modules.every(({ memoryBytes, forwardMs }) => memoryBytes.difference === 0 && forwardMs.difference === 0),
    ).toBe(true);
  });

  it("of two devices differs in time, by what each module says, and not in memory", () => {
    const view = compareView(a100, h100);
    const step = view.totals.find(({ name }) => name === "step")!.value;
    const { forwardMs, backwardMs, optimizerMs } = a100.modules.totals;
    expect(step.before).toBeCloseTo(forwardMs + backwardMs + optimizerMs, 9);
    expect(optimizerMs).toBeGreaterThan(0);
    expect(step.difference).toBeLessThan(0);
    expect(step.ratio).toBeCloseTo(step.difference! / step.before!, 12);
    expect(view.categories.every(({ value }) => value.difference === 0)).toBe(true);
    expect(view.categories.reduce((bytes, { value }) => bytes + value.before!, 0)).toBe(a100.peak!.totalBytes);
    view.modules.forEach((module, i) => {
      expect(module.forwardMs.after).toBe(h100.modules.nodes[i].forwardMs);
      expect(module.memoryBytes.difference).toBe(0);
    });
  });

  it("of different models, or numbers of steps, says so, and how many times rather than thousands of per cent", () => {
    const cnn = goldenFiles().find(({ name }) => name === "mem_04_cnn_adam")!;
    const other = run("cnn", readPyTorchTrace(readGolden(cnn)));
    expect(compareView(a100, other).notes.join()).toMatch(
      /a100 and cnn are of different models: of \d+ modules they have 0/,
    );
    expect(compareView(a100, h100).notes).toEqual([]);
    expect([9, 33849.443, 8.99, -0.999, 0].map(formatChange)).toEqual(["10x", "33,850x", "+899.0 %", "-99.9 %", "0 %"]);
  });

  it("tells what only one side has, and divides nothing by zero", () => {
    const other = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    other.module({ fqn: "extra", kind: "Dense", leaf: true });
    const small: ComparedRun = {
      name: "other",
      trace: other.build(),
      modules: moduleTreeView(other.build(), new Map()),
    };
    const view = compareView(a100, small);
    expect(view.totals.find(({ name }) => name === "peak memory")!.value).toEqual({
      before: a100.peak!.totalBytes,
      after: undefined,
      difference: undefined,
      ratio: undefined,
    });
    const extra = view.modules.at(-1)!;
    expect(extra.fqn).toBe("extra");
    expect(extra.forwardMs).toEqual({ before: undefined, after: 0, difference: undefined, ratio: undefined });
    expect(compareView(small, a100).modules[0].memoryBytes.before).toBe(0);
    const zero = compareView(small, small).totals[0].value;
    expect(zero).toEqual({ before: 0, after: 0, difference: 0, ratio: undefined });
  });

  it("is exported as a row for each number", () => {
    const view = compareView(a100, h100);
    const table = compareTable(view);
    expect(table.rows).toHaveLength(view.totals.length + view.categories.length + 4 * view.modules.length);
    const csv = writeViewTable(table, "csv").split("\r\n");
    expect(csv[0]).toBe("of,quantity,unit,before,after,difference,ratio");
    expect(csv).toHaveLength(table.rows.length + 2);
  });
});
