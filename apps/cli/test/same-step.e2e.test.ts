import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { predictReleasedPeak } from "@remat/checkpoint/predict";
import { heldPeak } from "@remat/memory";
import { formatBytes, summarizeSac } from "@remat/reporting";
import { SACEstimator } from "@remat/sac-core/estimator";
import { atNight, dailyRuns, sampledCases } from "@remat/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readOptions } from "../src/command.js";
import { loadModel } from "../src/load-model.js";
import { modelOptionsOf, stepOptions } from "../src/model-options.js";
import { isOf, modelSource } from "../src/model-source.js";
import { openTarget } from "../src/terminal/open-target.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-same-step-"));
const softmax = join(folder, "softmax.model.json");
const cacheBefore = process.env["REMAT_CACHE_DIR"];
beforeAll(async () => {
  writeFileSync(softmax, JSON.stringify(twoLayers("softmax")));
  process.env["REMAT_CACHE_DIR"] = folder;
});
afterAll(() => {
  if (cacheBefore === undefined) delete process.env["REMAT_CACHE_DIR"];
  else process.env["REMAT_CACHE_DIR"] = cacheBefore;
  rmSync(folder, { recursive: true, force: true });
});

async function json(...args: readonly string[]) {
  const { code, stdout, stderr } = await remat(...args);
  expect({ code, stderr: stderr.replace(/remat: wrote .*\n/, "") }).toEqual({ code: 0, stderr: "" });
  return stdout === "" ? undefined : JSON.parse(stdout);
}

/** A step's peak according to every command without real steps, and the op of the peak if given. */
async function peaksSaid(model: string, options: Readonly<Record<string, string>>) {
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const memory = await json("memory", model, ...args, "--format", "json");
  const plan = await json("plan", model, ...args, "--budget", "100%", "--iterations", "1", "--format", "json");
  const [report, summary] = [join(folder, "report.html"), join(folder, "summary.json")];
  const written = await remat("report", model, ...args, "--time", "0", "-o", report);
  expect(written).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^(?:Fits|Does not fit): peak memory is .*\n[^]*\n$/),
  });
  await json("report", "--extract", report, "-o", summary);
  const { summary: reported, verdict: judged } = JSON.parse(readFileSync(summary, "utf8"));
  const open = openTarget(modelOptionsOf(readOptions(stepOptions, options)), { canStop: false, isComparing: false });
  const opened = await open(model, { signal: new AbortController().signal, onProgress: () => {} });
  if (opened.kind !== "trace") throw new Error(`${model} is a ${opened.kind}`);
  return {
    bytes: {
      memory: memory.peakBytes,
      verdict: memory.verdict.peakBytes,
      plan: plan.stockPeakBytes,
      planVerdict: plan.verdict.peakBytes,
      report: reported.peak.totalBytes,
      reportVerdict: judged.peakBytes,
      ui: heldPeak(opened.trace).peakBytes,
    },
    early: {
      memory: memory.verdict.earlyReleasePeakBytes,
      estimate: (await json("estimate", model, ...args, "--format", "json")).verdict.earlyReleasePeakBytes,
      plan: plan.earlyReleasePeakBytes,
      planVerdict: plan.verdict.earlyReleasePeakBytes,
      report: judged.earlyReleasePeakBytes,
    },
    sentence: memory.verdict.sentence as string,
    ops: { memory: placeOf(memory.moment.at), report: placeOf(reported.peak.at) },
    steps: reported.steps,
  };
}

/** Identified by name, since report and terminal may show the step with fewer ops before this one. */
const placeOf = ({ opName, phase, module }: { opName: string; phase: string; module: string }): string =>
  `${opName} (${phase} of ${module})`;

/** The prediction of `remat run --early-release`. */
async function predictedEarly(model: string, options: Readonly<Record<string, string>>): Promise<number> {
  const { request, data } = modelOptionsOf(readOptions(stepOptions, options));
  const source = modelSource(model);
  if (!isOf(source, "model")) throw new Error(`${model} is no model`);
  return (await predictReleasedPeak(await loadModel({ ...source, data }), { ...request, name: source.name })).peakBytes;
}

const only = (values: object): unknown[] => [...new Set(Object.values(values))];

describe("one training step", () => {
  it("has one peak in one op, whoever is asked", async () => {
    const models = fc.constantFrom(softmax, example("foo/model.js"), example("shared-layers/model.js"));
    const options = fc.record({
      size: fc.constant("tiny"),
      batch: fc.integer({ min: 1, max: 9 }).map(String),
      optimizer: fc.constantFrom("sgd", "adam", "none", "momentum"),
      backend: fc.constantFrom("tensorflow", "wasm", "cpu"),
      unit: fc.constantFrom("1", "64", "512"),
    });
    await fc.assert(
      fc.asyncProperty(models, options, async (model, asked) => {
        const { bytes, early, ops, steps } = await peaksSaid(model, asked);
        expect({ bytes, distinct: only(bytes).length }).toEqual({ bytes, distinct: 1 });
        expect({ early, distinct: only(early) }).toEqual({ early, distinct: [await predictedEarly(model, asked)] });
        expect({ ops, distinct: only(ops).length }).toEqual({ ops, distinct: 1 });
        expect(steps).toBe(1);
      }),
      { numRuns: dailyRuns(6) },
    );
  });

  it("with the transformer and Adam has its peak at the same place in every view, and one step's time in a report", async () => {
    const { bytes, ops, steps } = await peaksSaid(example("transformer/model.js"), { optimizer: "adam" });
    expect([only(bytes).length, only(ops).length, steps]).toEqual([1, 1, 1]);
  });

  it.each(atNight ? ["resnet50"] : [])("of %s has the same peak to the byte everywhere", async (name) => {
    const { bytes } = await peaksSaid(example(`keras/${name}.model.json`), { batch: "8" });
    expect(only(bytes)).toHaveLength(1);
  });

  const measured: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    [example("shared-layers/model.js"), { size: "tiny", optimizer: "adam", unit: "512" }],
    [softmax, {}],
  ];
  it.each(sampledCases(measured, 2))(
    "is predicted and measured by run as the others say",
    async (model, options) => {
      const asked = { backend: "cpu", ...options };
      const { bytes, early, sentence } = await peaksSaid(model, asked);
      const args = Object.entries(asked).flatMap(([name, value]) => [`--${name}`, value]);
      const released = await json("run", model, ...args, "--early-release", "--steps", "2", "--format", "json");
      expect(only(early)).toEqual([released.predicted.peakBytes]);
      expect(released.measured.peakBytes).toBe(released.predicted.peakBytes);
      // Left out where it is next to nothing.
      const said = /(\S+ \S+) is enough with no slowdown, using early release/.exec(sentence)?.[1] ?? "nothing";
      expect([formatBytes(released.measured.peakBytes), "nothing"]).toContain(said);
      const { predicted, measured, verdict } = await json("run", model, ...args, "--steps", "2", "--format", "json");
      expect([predicted.peakBytes, measured.peakBytes, verdict.peakBytes]).toEqual(Array(3).fill(bytes.memory));
    },
    120_000,
  );

  it("among several is distinguished in a report", async () => {
    const { steps } = await peaksSaid(softmax, { steps: "3" });
    expect(steps).toBe(3);
    expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("Time of 3 steps");
  });
});

describe("SACEstimator.estimateStep", () => {
  it.each([
    ["transformer/model.js", { size: "tiny", batch: 2 }],
    ["shared-layers/model.js", { size: "tiny", optimizer: "adam", allocationUnitBytes: 512 }],
  ] as const)("takes the step of %s that remat estimate takes, at the same price", async (path, request) => {
    const { default: build } = await import(example(path));
    const device = "h100";
    const estimates = await new SACEstimator({ device }).estimateStep("operator-level-cost-model", build, {
      ...request,
      name: "model",
    });
    const { optimizer, batch, allocationUnitBytes, size } = { ...noStep, ...request };
    const said = await json(
      ...["estimate", example(path), "--device", device, "--format", "json", "--depth", "99", "--size", size],
      ...(optimizer === undefined ? [] : ["--optimizer", optimizer]),
      ...(batch === undefined ? [] : ["--batch", String(batch)]),
      ...(allocationUnitBytes === undefined ? [] : ["--unit", String(allocationUnitBytes)]),
    );
    const { modules, opCount, times } = summarizeSac(estimates.trace!, { depth: 99, estimates });
    expect({ opCount, forwardMs: times.forwardMs }).toEqual({ opCount: said.opCount, forwardMs: said.forwardMs });
    const figures = ({ fqn, memoryBytes, runtimeMs, savedBytes }: (typeof modules)[number]) => ({
      fqn,
      memoryBytes,
      runtimeMs,
      savedBytes,
    });
    expect(modules.map(figures)).toEqual(said.modules.map(figures));
    expect(modules.length).toBeGreaterThan(0);
  });
});

const noStep = { optimizer: undefined, batch: undefined, allocationUnitBytes: undefined };
