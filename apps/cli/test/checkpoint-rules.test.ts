import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sampledCases } from "@remat/testkit";
import { readPlan } from "@remat/trace";
import { afterAll, describe, expect, it, vi } from "vitest";
import { remat } from "./run.js";

const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-checkpoint-rules-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});
vi.setConfig({ testTimeout: 120_000 });

const small = (name: string) => [
  join(examples, name, "model.js"),
  "--size",
  "tiny",
  "--batch",
  "1",
  "--backend",
  "wasm",
];
const transformer = small("transformer");
const rules: readonly (readonly [string, string])[] = [
  ["transformer", "layers.*(save=dots_saveable)"],
  ["transformer", "layers.1(save=BatchMatMul%2),layers.0"],
  ["transformer", 'RematScope(mode="larger_than", output_size_threshold=4096)'],
  ["lstm", 'RematScope(mode="full")'],
];

describe("rules of a user's own, of a model of TensorFlow.js", () => {
  it.each(sampledCases(rules, 4))(
    "%s under %s takes what compare and plan say, to the byte, with stock's values to the bit",
    async (name, rule) => {
      const output = join(folder, "plan.json");
      const planned = await remat("plan", ...small(name), "--checkpoint", rule, "-o", output);
      expect({ code: planned.code, stderr: planned.stderr }).toEqual({ code: 0, stderr: "" });
      const { predicted, origin, steps } = readPlan(readFileSync(output, "utf8"));
      expect(origin).toMatchObject({ method: "rules", budgetBytes: predicted.peakBytes });
      expect(steps.some(({ isRecomputed }) => isRecomputed)).toBe(true);
      const compared = await remat("compare", ...small(name), "--checkpoint", rule, "--format", "json");
      const [device, early, row] = JSON.parse(compared.stdout).plans as { name: string; peakBytes: number }[];
      expect([device.name, early.name, row.name]).toEqual(["one device", "early release", `checkpoint=${rule}`]);
      expect(row.peakBytes).toBe(predicted.peakBytes);
      expect(device.peakBytes).toBe(predicted.recordedPeakBytes);
      const [model] = small(name);
      const run = await remat("run", model, "--plan", output, "--steps", "2", "--verify", "--format", "json");
      expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" });
      const { measured, verification } = JSON.parse(run.stdout);
      expect(measured.peakBytes).toBe(predicted.peakBytes);
      expect(verification).toMatchObject({ isEqual: true });
    },
  );

  it.each([
    [["--checkpoint", "layers.9"], 'no module is named "layers.9": nearest are'],
    [["--checkpoint", "layers.*(save=mm)"], "mm saves nothing in Transformer.layers.0. Choose among its ops:"],
    [["--checkpoint", "layers.*", "--method", "milp"], "--method milp needs a --module-budget"],
    [["--checkpoint", "layers.*", "--max-overhead", "5%"], "--max-overhead is for methods that search"],
    [
      ["--checkpoint", "layers.*", "--method", "modules", "--budget", "60%"],
      "--checkpoint works with --method rules, not with modules",
    ],
    [["--method", "rules"], "--method rules needs the modules to checkpoint: --checkpoint"],
    [["--checkpoint", "layers.*", "--budget", "1kB"], "--method rules found nothing within 1000 B"],
  ])("refuses %j in a line", async (args, message) => {
    const { code, stderr } = await remat("plan", ...transformer, ...args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
