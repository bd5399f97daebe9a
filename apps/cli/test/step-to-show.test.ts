import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { heldPeak } from "@remat/memory";
import { accountSequence, sequenceGraphOfTrace } from "@remat/memory/sequence";
import { extractReport } from "@remat/report";
import { AlignedOps, formatBytes, formatPercent } from "@remat/reporting";
import { heldTree } from "@remat/reporting/held-tree";
import { readPlan } from "@remat/trace";
import { afterAll, describe, expect, it } from "vitest";
import { openTarget } from "../src/terminal/open-target.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-step-to-show-"));
const model = join(folder, "normalized.mjs");
/** A model that tiles vectors, whose gradient tfjs computes row by row. */
writeFileSync(
  model,
  `export default ({ tf }) => {
  const x = tf.input({ shape: [16, 8] });
  let y = x;
  for (let i = 0; i < 3; i++) {
    const wide = tf.layers.dense({ units: 32, activation: "tanh" }).apply(y);
    y = tf.layers.layerNormalization().apply(tf.layers.add().apply([y, tf.layers.dense({ units: 8 }).apply(wide)]));
  }
  return tf.model({ inputs: x, outputs: tf.layers.globalAveragePooling1d({}).apply(y) });
};
`,
);
const uNet = fileURLToPath(new URL("../../../examples/u-net/model.js", import.meta.url));
const step = ["--batch", "16", "--backend", "tensorflow"];
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await remat(...args, "--format", "json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
};
const reportOf = async (...args: string[]) => {
  const path = join(folder, "report.html");
  const { code, stderr } = await remat("report", ...args, "-o", path);
  expect(code, stderr).toBe(0);
  return extractReport(readFileSync(path, "utf8"));
};

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("report and terminal show of a model what remat plan plans", () => {
  it("if the peak is that of tfjs's own gradients", async () => {
    const { meta, trace } = await reportOf(model, ...step, "--iterations", "50");
    // A report must not reveal folders of this machine.
    expect(JSON.stringify(meta)).not.toContain(folder);
    const stock = await json("memory", model, ...step);
    const planned = await json("plan", model, ...step, "--iterations", "50", "--pareto", "4");
    expect(heldPeak(trace).peakBytes).toBe(stock.peakBytes);
    expect(trace.ops.count).toBe(planned.opCount);
    const [{ allowedOverhead, peakBytes }] = meta.plans!.recommended;
    expect(allowedOverhead).toBe(0);
    expect(peakBytes).toBe(planned.recommended.noCost.peakBytes);
    expect(meta.environment.find(({ title }) => title === "Notes")?.facts).toContainEqual(
      expect.objectContaining({ value: expect.stringMatching(/gradients that plans and early release use: \d+ ops/) }),
    );
    const opened = await openTarget(
      { request: { batch: 16, backend: "tensorflow" }, data: undefined },
      { canStop: false, isComparing: false },
    )(model, { signal: new AbortController().signal, onProgress: () => {} });
    expect(opened.kind === "trace" && opened.trace.ops.count).toBe(trace.ops.count);
  });

  it("else the user's own step, and says so", async () => {
    const { meta, trace, planned: run } = await reportOf(uNet, ...step, "--size", "tiny", "--iterations", "50");
    const stock = await json("memory", uNet, ...step, "--size", "tiny");
    expect(heldPeak(trace).peakBytes).toBe(stock.peakBytes);
    expect(trace.header.fasterGradients).toBeUndefined();
    expect(trace.header.notes?.at(-1)).toMatch(/^shown with tfjs's own gradients\. .* the peak is [\d.]+ MiB/);
    const planned = await json("plan", uNet, ...step, "--size", "tiny", "--iterations", "50", "--pareto", "4");
    expect(meta.plans!.recommended[0].peakBytes).toBe(planned.recommended.noCost.peakBytes);
    expect(meta.plans!.recordedPeakBytes).toBe(stock.peakBytes);
    // Plans are drawn by ops that match.
    expect([run!.trace.ops.count, meta.hasPlannedStep]).toEqual([planned.opCount, true]);
    expect(run!.match).toHaveLength(trace.ops.count);
  });

  it("with a plan over that step, whose peak is compared with the one that every command reports", async () => {
    const of = [...step, "--size", "tiny"];
    const path = join(folder, "plan.json");
    const planned = await json("plan", uNet, ...of, "--max-overhead", "5%", "--iterations", "50", "-o", path);
    const { peakBytes } = await json("memory", uNet, ...of);
    const {
      meta,
      trace,
      overlays,
      followed,
      planned: run,
    } = await reportOf(uNet, ...of, "--compare", path, "--iterations", "20");
    expect([heldPeak(trace).peakBytes, meta.summary.peak?.totalBytes]).toEqual([peakBytes, peakBytes]);
    const less = formatPercent(1 - planned.peakBytes / peakBytes);
    const told = `Peak memory ${formatBytes(planned.peakBytes)}, ${less} less`;
    expect(meta.answers[0]).toMatchObject({ question: "What does plan.json do?", answer: told, isGood: true });
    // Followed op by op, and drawn by ops that match.
    expect(overlays).toEqual([]);
    const { sequence } = followed.at(-1)!;
    const account = accountSequence(sequenceGraphOfTrace(run!.trace), sequence)!;
    expect(account.peakBytes).toBe(planned.peakBytes);
    const aligned = new AlignedOps(run!.match, run!.trace.ops.count);
    const shown = aligned.carry(account);
    expect([shown.count, shown.highestBytes.length]).toEqual([trace.ops.count, trace.ops.count]);
    expect(Math.max(...shown.highestBytes)).toBe(Math.max(...account.highestBytes));
    expect(shown.highestBytes[shown.peakOp]).toBe(Math.max(...shown.highestBytes));
    const tree = aligned.carryTree(heldTree(run!.trace, account.heldAt(-1)));
    expect(tree.held.totalBytes).toBe(planned.peakBytes);
    for (const [place, op] of tree.held.maker.entries())
      if (op >= 0 && run!.match[op] === account.heldAt(-1).maker[place])
        expect(trace.opName(op)).toBe(tree.texts[tree.kernel[place]].replace(" (scratch)", ""));
    // The same for the plan alone.
    const alone = await reportOf(path);
    expect(alone.meta.answers[0].answer).toBe(told);
    const plan = readPlan(readFileSync(path, "utf8"));
    const opened = await openTarget(
      { request: { batch: 16, backend: "tensorflow", size: "tiny" }, data: undefined },
      { canStop: false, isComparing: false, plan },
    )(uNet, { signal: new AbortController().signal, onProgress: () => {} });
    if (opened.kind !== "trace") throw new Error("expected a trace");
    expect(heldPeak(opened.trace).peakBytes).toBe(peakBytes);
    expect(opened.atHand?.planned?.ops.count).toBe(plan.ops.length);
  });

  it("as it is beside another run", async () => {
    const run = join(folder, "run.remat.jsonl");
    expect((await remat("estimate", model, ...step, "--trace", run)).code).toBe(0);
    const { trace } = await reportOf(model, ...step, "--compare", run, "--time", "0");
    expect(trace.header.fasterGradients).toBeUndefined();
  });
});
