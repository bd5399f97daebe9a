import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatBytes } from "@remat/reporting";
import { sampledCases } from "@remat/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { TraceDocument } from "../../terminal/src/document/trace-document.js";
import { readOptions } from "../src/command.js";
import { modelOptionsOf, stepOptions } from "../src/model-options.js";
import { pricingOf, pricingOptions } from "../src/pricing-options.js";
import { openTarget } from "../src/terminal/open-target.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-one-verdict-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const fixture = (path: string): string =>
  fileURLToPath(new URL(`../../../packages/pytorch/test/fixtures/${path}`, import.meta.url));

/** A device with so little memory that no plan fits it. */
function tinyDevice(): string {
  const path = join(folder, "tiny.json");
  const figures = {
    name: "tiny",
    tflops: { float32: 19.5 },
    memoryGBps: 2039,
    memoryBytes: 100,
    allocationUnitBytes: 1,
  };
  writeFileSync(path, JSON.stringify(figures));
  return path;
}

type Options = Readonly<Record<string, string>>;

const typed = (options: Options): string[] => Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);

async function json(...args: string[]) {
  const { stdout, stderr } = await remat(...args, "--format", "json");
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`remat ${args.join(" ")}: ${stderr}`);
  }
}

async function reportOf(model: string, options: Options) {
  const [report, summary] = [join(folder, "report.html"), join(folder, "summary.json")];
  await remat("report", model, ...typed(options), "--iterations", "200", "-o", report);
  await remat("report", "--extract", report, "-o", summary);
  const told = JSON.parse(readFileSync(summary, "utf8"));
  // A report shows only the file name of an absolute path.
  const command = (told.verdict.command as string | undefined)?.replace(basename(model), () => model);
  return { ...told, verdict: { ...told.verdict, command } };
}

/** The terminal app's verdict right after opening, and after the full judgement. */
async function terminalOf(model: string, options: Options) {
  const pricing = pricingOf(readOptions(pricingOptions, options));
  const open = openTarget(modelOptionsOf(readOptions(stepOptions, options)), {
    canStop: false,
    isComparing: false,
    typed: { typedOptions: options, pricing, units: "auto" },
  });
  const opened = await open(model, { signal: new AbortController().signal, onProgress: () => {} });
  if (opened.kind !== "trace") throw new Error(`${model} is a ${opened.kind}`);
  const { trace, atHand } = opened;
  const given = { device: pricing.device, isDeviceAsked: pricing.isAsked };
  const document = TraceDocument.open({ title: "t" }, trace, given, atHand);
  const later = await document.atHand.judge!(document.device, new AbortController().signal);
  return { atOnce: document.verdict()!, later: later!, isJudgedLater: document.isJudgedLater };
}

const models: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ["a small network", example("foo/model.js"), { batch: "10" }],
  ["a convolutional network of Keras", example("keras/mobilenet_v1.model.json"), { batch: "2" }],
  ["a network whose peak is another with the gradients of plans", example("u-net/model.js"), { size: "tiny" }],
];

describe.each(sampledCases(models, 2))("every front gives one verdict on %s", (_name, model, given) => {
  const options = { ...given, backend: "tensorflow", device: "a100" };
  it("that fits: peak, what is free to gain, and what to type", async () => {
    const memory = await json("memory", model, ...typed(options));
    const { peakBytes, free, command } = memory.verdict;
    const plan = await json("plan", model, ...typed(options), "--max-overhead", "0%", "--iterations", "200");
    const report = await reportOf(model, options);
    const terminal = await terminalOf(model, options);
    expect(free.peakBytes).toBeLessThan(peakBytes);
    expect({
      plan: [plan.stockPeakBytes, Math.min(plan.earlyReleasePeakBytes, plan.peakBytes)],
      planVerdict: [plan.verdict.peakBytes, plan.verdict.free.peakBytes],
      report: [report.summary.peak.totalBytes, report.verdict.free.peakBytes],
      reportPlans: [report.plans.recordedPeakBytes, report.plans.recommended[0].peakBytes],
      terminal: [terminal.later.peakBytes, terminal.later.free!.peakBytes],
    }).toEqual(
      Object.fromEntries(
        ["plan", "planVerdict", "report", "reportPlans", "terminal"].map((front) => [
          front,
          [peakBytes, free.peakBytes],
        ]),
      ),
    );
    const size = formatBytes(free.peakBytes);
    expect(memory.verdict.sentence).toContain(`${size} is enough with no slowdown`);
    const { answer } = report.answers.find(({ about }: { about: string }) => about === "free");
    expect(answer).toContain(`: ${size} with a plan that recomputes nothing`);
    expect(command).toMatch(/^remat run .* --budget [\d.]+[KMG]iB$/);
    expect([report.verdict.command, terminal.later.command, plan.verdict.command]).toEqual([command, command, command]);
    // Facts of the immediate verdict stay.
    const { earlyReleasePeakBytes: _, ...toldLater } = terminal.later;
    expect(terminal.atOnce).toMatchObject({ ...toldLater });
    expect(terminal.isJudgedLater).toBe(false);
    const { stdout } = await remat("ui", model, ...typed(options), "--once", "--columns", "100");
    expect(stdout).toContain(command);
    expect(stdout).toContain(`${size} with a plan that recomputes nothing`);

    // Which batch a network brings is for whoever wrote it.
    if (!("batch" in given)) return;
    const fit = await json("fit", model, ...typed(options));
    const row = (way: string) =>
      fit.rows.find((each: { configuration: { way: string } }) => each.configuration.way === way);
    expect([row("stock").peakBytes, row("recompute").peakBytes]).toEqual([peakBytes, free.peakBytes]);
    expect(fit.command).toContain(command.slice(command.indexOf("--budget")));
  });

  it("that only another device has room for: which, and what to type", async () => {
    const small = { ...options, device: tinyDevice() };
    const memory = await json("memory", model, ...typed(small));
    expect(memory.verdict).toMatchObject({ fits: false });
    const report = await reportOf(model, small);
    const { later, isJudgedLater } = await terminalOf(model, small);
    expect(isJudgedLater).toBe(true);
    const { ways, command, least, free } = memory.verdict;
    for (const told of [report.verdict, later]) expect(told).toMatchObject({ ways, free, ...(least && { least }) });
    expect([report.verdict.command, later.command]).toEqual([command, command]);
  });
});

describe("every front gives one verdict on a run of PyTorch", () => {
  const run = fixture("transformer-step.json.gz");
  it.each([{ device: "a100" }, { device: "tiny" }])("for $device", async ({ device }) => {
    const options = { device: device === "tiny" ? tinyDevice() : device };
    const memory = await json("memory", run, ...typed(options));
    const { peakBytes, fits, command, ways } = memory.verdict;
    expect(memory.verdict.free).toBeUndefined();
    const report = await reportOf(run, options);
    const { later } = await terminalOf(run, options);
    const told = { peakBytes, fits, ...(command && { command }), ...(ways && { ways }) };
    for (const verdict of [report.verdict, later]) expect(verdict).toMatchObject(told);
    expect(report.answers.find(({ about }: { about: string }) => about === "free").answer).not.toContain("less");
    const plan = await json("plan", run, ...typed(options), "--max-overhead", "0%", "--time", "1s");
    expect(plan.verdict).toMatchObject({ peakBytes, fits });
    expect(plan.verdict.command).toMatch(/ --budget [\d.]+\w+ --pytorch-policy policy\.json$/);
  });
});
