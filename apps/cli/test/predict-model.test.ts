import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { heldPeak } from "@remat/memory";
import { traceFakeStep } from "@remat/tracer";
import { afterAll, describe, expect, it } from "vitest";
import { loadModel } from "../src/load-model.js";
import { modelSource } from "../src/model-source.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const mobileNet = fileURLToPath(new URL("../../../examples/keras/mobilenet_v2.model.json", import.meta.url));

/**
 * For MobileNetV2 at width 1, by its paper: 300 M multiply-adds and 3.4 M parameters; by keras.applications 3,538,984,
 * 34,112 of which are not trained.
 */
const paper = { parameters: 3_504_872, buffers: 34_112, multiplyAdds: 300_774_272 };

const folder = mkdtempSync(join(tmpdir(), "remat-predict-model-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Estimated {
  readonly verdict: {
    readonly peakBytes: number;
    readonly fits: boolean;
    readonly facts?: readonly string[];
    readonly largestBatch: { readonly batch: number; readonly peakBytes: number } | null;
  };
  readonly total: Readonly<Record<string, number>>;
  readonly layers: readonly Readonly<Record<string, number | string>>[];
}

async function estimate(...options: readonly string[]): Promise<Estimated> {
  const { code, stdout, stderr } = await remat("estimate", mobileNet, "--predict", "--format", "json", ...options);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Estimated;
}

async function peakOf(batch: number): Promise<number> {
  const model = await loadModel({ ...modelSource(mobileNet), gives: "model", data: undefined });
  return heldPeak(await traceFakeStep(model, { batch, predict: true })).peakBytes;
}

describe("remat estimate --predict", () => {
  it("counts what papers count, for the whole batch", async () => {
    const { total, layers, verdict } = await estimate("--batch", "2");
    expect(total).toMatchObject({ ...paper, multiplyAdds: 2 * paper.multiplyAdds });
    expect(verdict).toMatchObject({ fits: true, peakBytes: await peakOf(2) });
    const sum = (field: string): number => layers.reduce((all, layer) => all + (layer[field] as number), 0);
    expect([sum("parameters"), sum("buffers"), sum("multiplyAdds")]).toEqual([
      paper.parameters,
      paper.buffers,
      2 * paper.multiplyAdds,
    ]);
  });

  it("names the largest batch that fits: one more does not", async () => {
    const { largestBatch } = (await estimate("--device", "t4")).verdict;
    const { batch, peakBytes } = largestBatch!;
    expect(peakBytes).toBe(await peakOf(batch));
    expect(peakBytes).toBeLessThanOrEqual(16 * 2 ** 30);
    expect(await peakOf(batch + 1)).toBeGreaterThan(16 * 2 ** 30);
  });

  it("shows it on the first screen, and in remat memory, too", async () => {
    const { stdout } = await remat("estimate", mobileNet, "--predict", "--top", "3");
    expect(stdout).toMatch(/^Fits: .*\n[^]*^The largest batch that fits is [\d,]+: /m);
    expect(stdout).toContain("3,538,984 parameters (34,112 of them not trained), 300.8 M multiply-adds");
    const memory = await remat("memory", mobileNet, "--predict");
    expect(memory.stdout.split("\n", 1)).toEqual(stdout.split("\n", 1));
    expect(memory.stdout).not.toContain("--early-release");
  });

  it("does not print the limit of its search as an answer: a small model's largest batch is beyond a million samples", async () => {
    const path = join(folder, "small.json");
    writeFileSync(path, JSON.stringify(twoLayers("softmax")));
    const model = await loadModel({ ...modelSource(path), gives: "model", data: undefined });
    const peakAt = async (batch: number): Promise<number> =>
      heldPeak(await traceFakeStep(model, { batch, predict: true })).peakBytes;
    const found = async (memory: string) => {
      const device = join(folder, "device.json");
      writeFileSync(
        device,
        JSON.stringify({ name: "huge", memoryBytes: Number(memory), memoryGBps: 100, tflops: { float32: 1 } }),
      );
      const { stdout, stderr } = await remat("estimate", path, "--predict", "--format", "json", "--device", device);
      expect(stderr).toBe("");
      return (JSON.parse(stdout) as Estimated).verdict;
    };
    const { largestBatch } = await found(`${80 * 2 ** 30}`);
    expect(largestBatch!.batch).toBeGreaterThan(2 ** 20);
    expect(largestBatch!.peakBytes).toBe(await peakAt(largestBatch!.batch));
    expect(await peakAt(largestBatch!.batch + 1)).toBeGreaterThan(80 * 2 ** 30);
    const endless = await found("1e15");
    expect(endless.largestBatch).toMatchObject({ batch: 2 ** 31 - 1, isSearchLimit: true });
    const { stdout } = await remat("estimate", path, "--predict", "--device", join(folder, "device.json"));
    expect(stdout).toMatch(/^The largest batch that fits is at least 2,147,483,647 \(search limit\): /m);
  });

  it("tells a trace of it as what it is", async () => {
    const path = join(folder, "predicted.remat.jsonl");
    await remat("estimate", mobileNet, "--predict", "--trace", path);
    expect(readFileSync(path, "utf8")).toContain('"predict":true');
    const { code, stdout } = await remat("memory", path);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Fits: peak memory is /) as string]);
    const estimated = await remat("estimate", path);
    expect(estimated.stdout).toContain(", inference: ");
  });

  it("says beside it what early release would hold, which here is as much", async () => {
    const { stdout } = await remat("memory", mobileNet, "--predict");
    expect(stdout.split("\n\n")[0]).toContain("Early release does not lower the peak.");
    const { earlyReleasePeakBytes, peakBytes } = (await estimate()).verdict as Estimated["verdict"] & {
      readonly earlyReleasePeakBytes: number;
    };
    expect(earlyReleasePeakBytes).toBe(peakBytes);
  });

  it.each([
    ["the model", () => [mobileNet, "--predict"]],
    ["a trace of it", () => [join(folder, "planned.remat.jsonl")]],
  ])("plan refuses %s by name, with the next step", async (_what, target) => {
    await remat("estimate", mobileNet, "--predict", "--trace", join(folder, "planned.remat.jsonl"));
    const { code, stdout, stderr } = await remat("plan", ...target(), "--budget", "60%");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^remat: inference of mobilenet\S*v2\S* \(--predict\) has no backward pass.*remat memory .* --predict.*\n$/i,
    );
  });

  it("ui shows it, and says in the trade-off that there is none", async () => {
    const memory = await remat("ui", mobileNet, "--predict", "--once", "--view", "memory");
    expect([memory.code, memory.stdout]).toEqual([0, expect.stringMatching(/largest batch|peak/i) as string]);
    const tradeOff = await remat("ui", mobileNet, "--predict", "--once", "--view", "trade-off");
    expect(tradeOff.stdout).toContain("saves nothing for a backward pass");
  });

  it("report shows it, without plans", async () => {
    const path = join(folder, "predicted.html");
    const { code, stdout } = await remat("report", mobileNet, "--predict", "-o", path);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^The largest batch that fits is /m) as string]);
    expect(readFileSync(path, "utf8")).toContain("inference has no backward pass");
  });

  it.each(["--loss", "--optimizer"])("refuses %s, since nothing is trained", async (option) => {
    const value = option === "--loss" ? "meanSquaredError" : "adam";
    const { code, stderr } = await remat("estimate", mobileNet, "--predict", option, value);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/a prediction's .*not supported, because inference does not train/) as string,
    ]);
  });
});

describe("remat estimate of a training step", () => {
  it("shows parameters and FLOPs, too", async () => {
    const { stdout } = await remat("estimate", mobileNet);
    expect(stdout).toContain("3,538,984 parameters (34,112 of them not trained), 300.8 M multiply-adds");
  });
});
