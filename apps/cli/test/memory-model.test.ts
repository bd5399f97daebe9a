import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RuntimeSource, readTrace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { remat } from "./run.js";

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));

async function memoryJson(...args: string[]) {
  const { code, stdout, stderr } = await remat("memory", ...args, "--format", "json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("remat memory MODEL", () => {
  it("predicts stock tfjs's peak of ResNet-50 at batch 8, in the backward pass of the first layers", async () => {
    const { peakBytes, moment } = await memoryJson(
      example("keras/resnet50.model.json"),
      "--batch",
      "8",
      "--loss",
      "categoricalCrossentropy",
    );
    // Measured on tfjs-node for trainOnBatch: 4,843 MB over the weights, by buffer. Off by 0.1%.
    expect((peakBytes - moment.bytesByCategory.parameter - moment.bytesByCategory.buffer) / 1e6).toBeGreaterThan(
      4843 * 0.99,
    );
    expect((peakBytes - moment.bytesByCategory.parameter - moment.bytesByCategory.buffer) / 1e6).toBeLessThan(
      4843 * 1.01,
    );
    expect(moment.at).toMatchObject({ phase: "backward" });
    expect(moment.at.module).toMatch(/^resnet50\.conv1/);
  });

  it.each([
    ["sgd", 0],
    ["momentum", 1],
    ["adam", 2],
    ["rmsprop", 2],
    ["adagrad", 1],
    ["adadelta", 2],
    ["adamax", 2],
  ])("counts the state of %s: %i times the weights", async (optimizer, slots) => {
    const { snapshots } = await memoryJson(example("foo/model.js"), "--optimizer", optimizer);
    const { parameter, optimizerState = 0 } = snapshots.current[0].bytesByCategory;
    expect(parameter).toBe(60 * 4);
    expect(optimizerState - slots * parameter).toBeGreaterThanOrEqual(0);
    // Beside the slots only a few scalars.
    expect(optimizerState - slots * parameter).toBeLessThan(64);
  });

  it("predicts a rank of many: parameters, gradients and state of the transformer in eighths", async () => {
    const args = [example("transformer/model.js"), "--size", "tiny", "--optimizer", "adam"];
    const whole = (await memoryJson(...args)).snapshots.current[0].bytesByCategory;
    const { snapshots, sharding } = await memoryJson(...args, "--fsdp", "world=8,wrap='layers.*',reshard");
    const rank = snapshots.current[0].bytesByCategory;
    expect(sharding.worldSize).toBe(8);
    expect(rank.shardedParameter).toBe(whole.parameter / 8);
    expect(rank.optimizerState).toBeGreaterThanOrEqual(whole.optimizerState / 8);
    expect(rank.optimizerState).toBeLessThan(whole.optimizerState / 8 + 64); // 7 bytes more: scalars are not sharded
  });

  it("halves activations in bfloat16, dropout and masks included, and takes what is offloaded off the device", async () => {
    const args = [example("transformer/model.js"), "--size", "tiny", "--optimizer", "adam"];
    const peak = async (plan: string) => (await memoryJson(...args, "--fsdp", plan)).snapshots.peak;
    const [single] = await peak("world=8,wrap='layers.*',reshard");
    const [low] = await peak("world=8,wrap='layers.*',reshard,bf16");
    expect(low.bytesByCategory.activation / single.bytesByCategory.activation).toBeCloseTo(0.5, 1); // off by 0.013
    expect(low.bytesByCategory.temporary / single.bytesByCategory.temporary).toBeCloseTo(0.5, 1); // off by 0.021
    const offloaded = await peak("world=8,wrap='layers.*',reshard,offload");
    const onDevice = offloaded.find(({ device }: { device: string }) => device === "cpu").bytesByCategory;
    const onHost = offloaded.find(({ device }: { device: string }) => device === "host").bytesByCategory;
    expect([onDevice.shardedParameter, onDevice.shardedGradient]).toEqual([0, 0]);
    expect(onHost.shardedParameter).toBe(single.bytesByCategory.shardedParameter);
    const { stdout } = await remat("memory", ...args, "--units", "MiB", "--fsdp", "world=8,wrap='layers.*',offload");
    expect(stdout).toMatch(/^offloaded: peak memory \d+\.\d+ MiB on host$/m);
  });

  it("counts a weight's gradient once, also of a weight that is used in two places", async () => {
    const { modules } = await memoryJson(example("transformer/model.js"), "--size", "tiny", "--depth", "1");
    expect(modules[0].gradientBytes).toBe(modules[0].parameterBytes);
  });

  it("tells what is held after any op", async () => {
    const { place, moment } = await memoryJson(example("foo/model.js"), "--at", "op:1");
    expect(place).toBe("after op 1");
    expect(moment.totalBytes).toBeGreaterThan(0);
  });

  it("takes --mode, so that the trace that it writes has times that were measured here, and the same peak", async () => {
    const args = [example("foo/model.js"), "--backend", "cpu"];
    const folder = mkdtempSync(join(tmpdir(), "remat-memory-mode-"));
    try {
      const path = join(folder, "measured.remat.jsonl");
      const measured = await memoryJson(...args, "--mode", "operator-level-benchmark", "--trace", path);
      const trace = await readTrace(createReadStream(path));
      expect(new Set(trace.ops.runtimeSource)).toEqual(new Set([RuntimeSource.measured]));
      expect(measured.peakBytes).toBe((await memoryJson(...args)).peakBytes);
      expect(await remat("memory", ...args, "--mode", "guess")).toMatchObject({ code: 2, stdout: "" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
