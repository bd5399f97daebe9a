import { type MemoryMoment, peakMoment } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { sacStats } from "@remat/sac-core";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Phase, type Trace, TraceBuilder } from "@remat/trace";
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
  it("between a run and itself shows no difference", () => {
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

  it("between two devices differs in time, by each module, and not in memory", () => {
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

  it("between different models, or numbers of steps, says so, and uses factors rather than thousands of percent", () => {
    const cnn = goldenFiles().find(({ name }) => name === "mem_04_cnn_adam")!;
    const other = run("cnn", readPyTorchTrace(readGolden(cnn)));
    expect(compareView(a100, other).notes.join()).toMatch(
      /a100 and cnn are different models: they share 0 of \d+ modules/,
    );
    expect(compareView(a100, h100).notes).toEqual([]);
    expect([9, 33849.443, 8.99, -0.999, 0].map(formatChange)).toEqual(["10x", "33,850x", "+899.0%", "-99.9%", "0%"]);
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

  /** A run of so many steps, whose model has these modules. */
  const madeUp = (name: string, steps: number, fqns: readonly string[], brokenAt?: number): ComparedRun => {
    const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    for (const fqn of fqns) b.module({ fqn, kind: "Dense", leaf: true });
    for (let step = 0; step < steps; step++)
      for (const phase of [Phase.forward, Phase.backward]) b.op({ name: "Relu", phase });
    const trace = b.build(brokenAt === undefined ? undefined : { line: brokenAt, reason: "there is no end record" });
    return { name, trace, modules: moduleTreeView(trace, new Map()) };
  };
  const notesOf = (before: ComparedRun, after: ComparedRun) => compareView(before, after).notes;

  it("between different numbers of steps names both, in either order", () => {
    const [one, two, three] = [1, 2, 3].map((steps) => madeUp(`run ${steps}`, steps, ["net"]));
    expect(notesOf(two, three)).toEqual(["run 2 has 2 steps and run 3 has 3: totals cover all of them"]);
    expect(notesOf(one, two)).toEqual(["run 1 has 1 step and run 2 has 2: totals cover all of them"]);
    expect(notesOf(two, one)).toEqual(["run 2 has 2 steps and run 1 has 1: totals cover all of them"]);
    expect(notesOf(two, two)).toEqual([]);
    // Nothing is known about a run without ops.
    expect(notesOf(madeUp("empty", 0, ["net"]), two)).toEqual([]);
  });

  it("takes runs that share less than half of the modules of the larger one for different models", () => {
    const four = madeUp("four", 1, ["a", "b", "c", "d"]);
    expect(notesOf(four, madeUp("half", 1, ["a", "b"]))).toEqual([]);
    expect(notesOf(four, madeUp("less", 1, ["a", "x", "y"]))).toEqual([
      "four and less are different models: they share 1 of 4 modules",
    ]);
    expect(notesOf(madeUp("small", 1, ["x"]), four)).toEqual([
      "small and four are different models: they share 0 of 4 modules",
    ]);
    expect(notesOf(four, madeUp("bare", 1, []))).toEqual([]);
  });

  it("with a truncated trace says which one, and where it ends", () => {
    const [whole, broken] = [madeUp("whole", 1, ["net"]), madeUp("broken", 1, ["net"], 7)];
    expect(notesOf(whole, broken)).toEqual([expect.stringMatching(/^broken: .*line 7/)]);
    expect(notesOf(broken, whole)).toEqual([expect.stringMatching(/^broken: .*line 7/)]);
    expect(notesOf(broken, { ...broken, name: "other" })).toHaveLength(2);
  });

  it("lists categories by what the larger side holds of them, without those that neither does, and modules by name", () => {
    const peak = (bytesByCategory: object) => ({ totalBytes: 0, bytesByCategory }) as unknown as MemoryMoment;
    const [a, b] = [madeUp("a", 1, ["net", "net.a"]), madeUp("b", 1, ["net", "net.b"])];
    const { categories, modules, totals } = compareView(
      { ...a, peak: peak({ parameter: 10, gradient: 0, activation: 5 }) },
      { ...b, peak: peak({ parameter: 20, activation: 50, buffer: 1 }) },
    );
    expect(
      categories.map(({ name, value }) => [name, value.before, value.after, value.difference, value.ratio]),
    ).toEqual([
      ["activation", 5, 50, 45, 9],
      ["parameter", 10, 20, 10, 1],
      ["buffer", 0, 1, 1, undefined],
    ]);
    expect(modules.map(({ fqn, kind }) => [fqn, kind])).toEqual([
      ["net", "Dense"],
      ["net.a", "Dense"],
      ["net.b", "Dense"],
    ]);
    expect(totals.at(-1)).toMatchObject({ name: "ops", unit: "count", value: { before: 2, after: 2, difference: 0 } });
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
