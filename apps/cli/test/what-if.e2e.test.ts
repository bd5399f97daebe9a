import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answerWhatIf, type PresentStep, parseWhatIf, presentWhatIf } from "@remat/fit";
import { extractReport } from "@remat/report";
import { formatBytes, presentQuestion, type WhatIfRow } from "@remat/reporting";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadTrace } from "../src/load-trace.js";
import { modelSource } from "../src/model-source.js";
import { presentStep } from "../src/what-if/present-step.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-what-if-"));
const model = join(folder, "net.js");
const golden = (name: string): string =>
  fileURLToPath(new URL(`../../../tooling/testkit/goldens/${name}.json.gz`, import.meta.url));
const silent = { show() {} };
const pricing = { device: deviceSpec("a100"), isAsked: false };
let present: PresentStep;

beforeAll(async () => {
  writeFileSync(
    model,
    `export default ({ tf }) => tf.sequential({ layers: [
  tf.layers.dense({ units: 48, activation: "relu", inputShape: [24] }),
  tf.layers.dropout({ rate: 0.2 }),
  tf.layers.dense({ units: 33, activation: "tanh" }),
  tf.layers.dense({ units: 5, activation: "softmax" }),
] });\n`,
  );
  const source = modelSource(model);
  const options = { request: { batch: 6, optimizer: "momentum" }, data: undefined };
  const trace = priceTrace(await loadTrace(source, options, silent), pricing.device);
  present = await presentStep(trace, { source, options, pricing }, silent);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function peakSaid(...words: readonly string[]): Promise<number> {
  const { stdout } = await remat("memory", model, ...words, "--format", "json");
  return (JSON.parse(stdout) as Judged).verdict.peakBytes;
}

type Peak = { readonly peakBytes: number };
type Judged = { readonly verdict: Peak };
type Compared = { readonly plans: readonly Peak[] };
type Found = { readonly best: Peak };

it("says of a model what remat memory says of it, whatever is asked", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.option(fc.integer({ min: 1, max: 70 }), { nil: undefined }),
      fc.option(fc.constantFrom("sgd", "momentum", "adam", "adamax", "rmsprop", "none"), { nil: undefined }),
      fc.option(fc.constantFrom("t4", "h100"), { nil: undefined }),
      fc.option(fc.constantFrom("world=2", "world=8,no-reshard", "world=4,no-wrap", "world=3,bf16"), {
        nil: undefined,
      }),
      async (batch, optimizer, device, sharding) => {
        const question = [
          ...(batch === undefined ? [] : [`batch=${batch}`]),
          ...(optimizer === undefined ? [] : [`optimizer=${optimizer}`]),
          ...(device === undefined ? [] : [`device=${device}`]),
          ...(sharding === undefined ? [] : [sharding]),
        ].join(", ");
        const row = question === "" ? presentWhatIf(present) : await answerWhatIf(present, question);
        const said = await peakSaid(
          ...["--batch", `${batch ?? 6}`, "--optimizer", optimizer ?? "momentum"],
          ...(device === undefined ? [] : ["--device", device]),
          ...(sharding === undefined ? [] : ["--fsdp", sharding]),
        );
        expect(row.answer).toMatch(/^Fits: peak memory is .* of .* \(.*\)/);
        expect(row.peakBytes).toBe(said);
      },
    ),
    { numRuns: 25 },
  );
});

/** Returns the arguments with which other commands compute a row. */
function wordsOf({ question }: WhatIfRow): readonly string[] {
  const [asked, found] = question.split(": ");
  if (asked === presentQuestion) return [];
  const { batch, optimizer, precision, device, sharding } = parseWhatIf(asked);
  const samples = batch === "largest" ? /\d+/.exec(found)?.[0] : batch;
  const plan = sharding ?? (precision === "bf16" ? "world=1,param=bfloat16" : undefined);
  return [
    ...(samples === undefined ? [] : ["--batch", `${samples}`]),
    ...(optimizer === undefined ? [] : ["--optimizer", optimizer]),
    ...(device === undefined ? [] : ["--device", device.name]),
    ...(plan === undefined ? [] : ["--fsdp", plan]),
  ];
}

/**
 * The answers about a step, and the results of `remat memory`, `remat plan`, `remat compare` and `remat fit` for each
 * configuration mentioned.
 */
async function answersOf(
  target: string,
  step: readonly string[],
  batch: readonly string[] = [],
): Promise<readonly WhatIfRow[]> {
  const page = join(folder, "report.html");
  expect(await remat("report", target, ...step, ...batch, "--time", "0", "-o", page)).toMatchObject({ code: 0 });
  const { whatIfs } = extractReport(readFileSync(page, "utf8")).meta;
  const answered = whatIfs.filter(({ peakBytes }) => peakBytes !== undefined);
  expect(answered.length).toBeGreaterThan(10);
  const say = async (command: string, words: readonly string[]): Promise<unknown> => {
    const given = words.includes("--batch") ? step : [...step, ...batch];
    const { stdout, stderr } = await remat(command, target, ...given, ...words, "--format", "json");
    expect([command, words, stderr.match(/^remat: expected|cannot/m)]).toEqual([command, words, null]);
    return JSON.parse(stdout);
  };
  for (const row of answered) {
    const words = wordsOf(row);
    const peaks: unknown[] = [];
    // For recorded runs, only a search answers questions about other optimizers.
    if (target.endsWith(".gz") && words.includes("--optimizer"))
      peaks.push(((await say("fit", [...words, "--ways", "stock", "--workers", "1"])) as Found).best.peakBytes);
    else peaks.push(((await say("memory", words)) as Judged).verdict.peakBytes);
    const isPlanned = !words.includes("--fsdp") && !(target.endsWith(".gz") && words.includes("--optimizer"));
    if (isPlanned)
      peaks.push(
        ((await say("plan", [...words, "--max-overhead", "0%", "--iterations", "1"])) as Judged).verdict.peakBytes,
      );
    if (words.includes("--fsdp")) peaks.push(((await say("compare", words)) as Compared).plans.at(-1)?.peakBytes);
    expect([row.question, ...new Set(peaks)]).toEqual([row.question, row.peakBytes]);
  }
  return whatIfs;
}

it("is in the report of a model what other commands say of each configuration", async () => {
  expect((await answersOf(model, [], ["--batch", "6"])).map(({ question }) => question)).toContain("batch=12");
});

it("is that of a model with its own batch, whose first op reads positions, too", async () => {
  const gpt = fileURLToPath(new URL("../../../examples/gpt-2/model.js", import.meta.url));
  const questions = (await answersOf(gpt, ["--size", "tiny"])).map(({ question }) => question);
  expect(questions).toEqual(expect.arrayContaining(["batch=1", "batch=4"]));
});

it("is of a run of PyTorch, in the report and in the terminal app, what other commands say of each configuration", {
  timeout: 240_000,
}, async () => {
  const run = golden("mem_02_transformer_adam");
  const { stdout } = await remat("ui", run, "--once", "--view", "what-if", "--columns", "140", "--rows", "60");
  const shown = stdout.split("\n").map((line) => line.replaceAll(/\s+/g, " "));
  for (const { question, peakBytes } of await answersOf(run, [])) {
    const told = `${question} ${peakBytes === undefined ? "n/a" : formatBytes(peakBytes)} `;
    expect(shown.filter((line) => `${line} `.startsWith(told))).toHaveLength(1);
  }
});

it("finds the largest batch that remat fit finds", async () => {
  const device = { ...pricing.device, memoryBytes: 300_000 };
  const row = await answerWhatIf({ ...present, device, pricedFor: device }, "batch=largest");
  const { stdout } = await remat(
    ...["fit", model, "--ways", "stock", "--optimizer", "momentum", "--memory", "300000B", "--objective", "batch"],
    ...["--workers", "1", "--format", "json"],
  );
  const [best] = (JSON.parse(stdout) as { rows: readonly { batch: number; peakBytes: number }[] }).rows;
  expect(row.question).toBe(`batch=largest: ${best.batch}`);
  expect(row.peakBytes).toBe(best.peakBytes);
});

it("refuses by name what it cannot be asked", async () => {
  for (const [question, reason] of [
    ["optimizer=adamm", /adamm/],
    ["precision=bf16", /TensorFlow.js supports float32 only/],
    ["world=8,wrap='nowhere.*'", /nowhere/],
  ] as const) {
    const row = await answerWhatIf(present, question);
    expect(row.peakBytes).toBeUndefined();
    expect(row.answer).toMatch(reason);
  }
  expect(() => parseWhatIf("")).toThrow("the question is empty");
});
