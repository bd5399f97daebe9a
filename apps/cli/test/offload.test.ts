import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deviceSpec } from "@remat/runtime-estimator";
import { offloads, readPlan } from "@remat/trace";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const model = fileURLToPath(new URL("../../../examples/u-net/model.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-offload-"));
const planPath = join(folder, "plan.json");
beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("a step over a link", () => {
  it("is planned with what it offloads, said in numbers that the plan has, and run so to the byte and to the bit", async () => {
    const asked = [model, "--size", "tiny", "--backend", "wasm", "--optimizer", "none", "--budget", "30%"];
    const effort = ["--iterations", "1000", "--format", "json", "-o", planPath];
    const planned = await remat("plan", ...asked, "--link", "12TB/s", ...effort);
    expect({ code: planned.code, stderr: planned.stderr }).toEqual({ code: 0, stderr: "" });
    const { offloaded, origin, peakBytes } = JSON.parse(planned.stdout);
    const plan = readPlan(readFileSync(planPath, "utf8"));
    expect(offloads(plan)).toBe(true);
    expect(origin.linkBytesPerSecond).toBe(12e12);
    const moves = (what: "offload" | "reload") => plan.steps.flatMap((step) => step[what] ?? []).length;
    expect(offloaded.tensors).toBe(moves("offload"));
    expect(offloaded.transferMs).toBeCloseTo((offloaded.bytes + offloaded.reloadedBytes) / 12e9, 9);

    const refused = await remat("run", model, "--plan", planPath, "--steps", "2");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/offloads.*--offload-on-host/s);

    const run = await remat(
      ...["run", model, "--plan", planPath, "--offload-on-host", "--steps", "2", "--verify", "--format", "json"],
    );
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" });
    const { measured, verification } = JSON.parse(run.stdout);
    expect(measured.peakBytes).toBe(peakBytes);
    expect(measured).toMatchObject({
      offloadedBytes: offloaded.bytes,
      reloadedBytes: offloaded.reloadedBytes,
      recomputedOnTouch: 0,
    });
    expect(verification.isEqual).toBe(true);
  });

  it.each([
    ["--link", "12"],
    ["--link", "12GB"],
    ["--link", "60%/s"],
    ["--link", "0GB/s"],
  ])("is refused for %s %s, which is no rate", async (...args) => {
    const { code, stderr } = await remat("plan", model, "--budget", "50%", ...args);
    expect(code).toBe(2);
    expect(stderr).toContain("--link expects the rate between device and host memory");
  });

  it("is that of the device by name, or of a device of one's own", async () => {
    const own = join(folder, "own.json");
    writeFileSync(own, JSON.stringify({ name: "own", tflops: { float32: 1 }, memoryGBps: 100, linkGBps: 1.5 }));
    const effort = ["--iterations", "1", "--format", "json", "--size", "tiny", "--budget", "90%", "--link", "device"];
    for (const [device, rate] of [
      ["a100", 1e9 * deviceSpec("a100").linkGBps!],
      [own, 1.5e9],
    ] as const) {
      const { code, stdout, stderr } = await remat("plan", model, ...effort, "--device", device);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(stdout).origin.linkBytesPerSecond).toBe(rate);
    }
    const refused = await remat("plan", model, ...effort, "--device", "cpu");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("--link device: the rate between cpu and host memory is unknown");
  });

  it("goes with no method that plans modules", async () => {
    const { code, stderr } = await remat("plan", model, "--method", "modules", "--budget", "50%", "--link", "1GB/s");
    expect(code).toBe(2);
    expect(stderr).toContain("--link works with --method schedule, not with modules");
  });
});

it("a graph's nodes are offloaded where that is cheaper than to run them twice", async () => {
  const path = join(folder, "graph.json");
  const nodes = [..."abcdef"].map((name) => ({ name, bytes: 1e6, cost: 100 }));
  const edges = [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 4],
    [1, 4],
    [4, 5],
    [0, 5],
  ];
  writeFileSync(path, JSON.stringify({ schema: "rematerialization-graph/1", nodes, edges }));
  const asked = ["plan", path, "--budget", "3MB", "--iterations", "2000", "--format", "json"];
  const without = JSON.parse((await remat(...asked)).stdout);
  const found = JSON.parse((await remat(...asked, "--link", "1GB/s")).stdout);
  // 1 MB there and back takes 2 ms.
  expect(found.cost).toBe(602);
  expect(found.sequence).toContain(~0);
  expect(without.cost).toBe(700);
  const { stdout } = await remat(...asked.slice(0, -2), "--link", "1GB/s");
  expect(stdout).toContain("Offloaded: 1 node's result, 976.6 KiB; 976.6 KiB is reloaded.");
});
