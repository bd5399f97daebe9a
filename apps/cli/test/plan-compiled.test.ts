import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

interface Point {
  readonly activationMemoryBudget: number;
  readonly savedBytes: number;
  readonly peakBytes: number;
  readonly overhead: number;
}

const fixture = new URL("../../../packages/planner/test/fixtures/compiled-models.json.gz", import.meta.url);
const run = fileURLToPath(new URL("../../../packages/pytorch/test/fixtures/encoder-step.json.gz", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-compiled-"));
const path = join(folder, "graphs.json.gz");
let file: Record<string, unknown> & { readonly partitions: readonly object[] };
let measured: readonly { readonly budget: number; readonly savedBytes: number; readonly peakBytes: number }[];

beforeAll(() => {
  const { cases } = JSON.parse(gunzipSync(readFileSync(fixture)).toString());
  ({ file, measured } = cases.find(({ name }: { name: string }) => name === "gpt2, as aot_eager"));
  writeFileSync(path, gzipSync(JSON.stringify(file)));
});

describe("remat plan of a compiled model", () => {
  it("tells what each budget for activations saves and holds, and the line that sets the one it chooses", async () => {
    const { code, stdout, stderr } = await remat("plan", path, "--budget", "85%");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatchInlineSnapshot(`
      "Does not fit: peak memory as compiled is 6.192 MiB, the budget is 5.263 MiB, 951.0 KiB too much.
      Planned: 4.871 MiB (78.7%), 8.84% more time. This fits.
      Next:  torch._functorch.config.activation_memory_budget = 0.5

      GPT2LMHeadModel: for torch.compile, estimated for A100 (roofline, not calibrated)
      budget 5.263 MiB; peaks are before Inductor fuses ops, and include 532 KiB of weights and buffers and 2 KiB of inputs

      ==========================  ====================  =========  =============  ======  ==========  ==============
        activation_memory_budget  Saved for backward    Peak       Of baseline    Step    Overhead    Point
      ==========================  ====================  =========  =============  ======  ==========  ==============
                            1     3.838 MiB             6.192 MiB  100.0%         25 µs   0%          baseline
                            0.75  2.838 MiB             5.753 MiB  92.9%          26 µs   3.55%
                            0.5   1.75 MiB              4.871 MiB  78.7%          27 µs   8.84%       planned, least
                            0.25  960 KiB               5.061 MiB  81.7%          30 µs   20.2%
                            0     0 B                   6.754 MiB  109.1%         34 µs   36.4%
      ==========================  ====================  =========  =============  ======  ==========  ==============

      Set this before you compile the model:

          torch._functorch.config.activation_memory_budget = 0.5
      "
    `);
  });

  it("says as JSON, and in the file that is written, what PyTorch measures", async () => {
    const output = join(folder, "plan.json");
    const { code, stdout } = await remat("plan", path, "--budget", "80%", "--format", "json", "-o", output);
    expect(code).toBe(0);
    const told = JSON.parse(stdout);
    const points = told.points.map(({ activationMemoryBudget: budget, savedBytes, peakBytes }: Point) => ({
      ...{ budget, savedBytes, peakBytes },
    }));
    expect(points).toEqual(measured);
    const code80 = "torch._functorch.config.activation_memory_budget = 0.5";
    expect(told).toMatchObject({ executor: "torch-compile", activationMemoryBudget: 0.5, code: code80 });
    const { schema, ...written } = JSON.parse(readFileSync(output, "utf8"));
    expect(schema).toBe("torch-compile-plan/1");
    expect(told).toMatchObject(written);
  });

  it("ends with exit code 1 and what holds least where no recorded budget for activations is small enough", async () => {
    const { code, stdout, stderr } = await remat("plan", path, "--budget", "50%");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Smallest found: 4\.871 MiB \(78\.7%\).* This does not fit either\.$/m);
    const least = Math.min(...measured.map(({ peakBytes }) => peakBytes));
    expect(stderr).toContain("none of the 5 recorded values of activation_memory_budget");
    expect(stderr).toContain(`the smallest peak is ${least}B (4.871 MiB), at 0.5`);
  });

  it("keeps to --max-overhead", async () => {
    const { stdout } = await remat("plan", path, "--max-overhead", "15%", "--format", "json");
    const { overhead, peakBytes, points } = JSON.parse(stdout);
    expect(overhead).toBeLessThanOrEqual(0.15);
    const allowed = points.filter((point: Point) => point.overhead <= 0.15);
    expect(peakBytes).toBe(Math.min(...allowed.map((point: Point) => point.peakBytes)));
    const dear = await remat("plan", path, "--budget", "85%", "--max-overhead", "1%");
    expect(dear).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the fastest that fits, 0\.5, takes 8\.84% more time/),
    });
    expect(dear.stdout).toContain("Planned: 4.871 MiB (78.7%), 8.84% more time. This fits.");
  });

  it("shows the front, and what it recommends of it", async () => {
    const { stdout } = await remat("plan", path, "--pareto", "3", "--format", "json");
    const { points, recommended, least } = JSON.parse(stdout);
    expect(points.map((point: Point) => point.activationMemoryBudget)).toEqual([1, 0.75, 0.5]);
    expect(recommended.map((point: { maxOverhead: number }) => point.maxOverhead)).toEqual([0, 0.05, 0.2]);
    expect(recommended.at(-1)).toMatchObject(least);
  });

  it("depends on the device", async () => {
    const told = await Promise.all(
      ["a100", "h100"].map(async (device) => {
        const { stdout } = await remat("plan", path, "--budget", "85%", "--format", "json", "--device", device);
        return JSON.parse(stdout).stock.stepMs;
      }),
    );
    expect(told[0]).toBeGreaterThan(told[1]);
  });

  it.each([
    [["--executor", "tfjs"], "Use --executor torch-compile"],
    [["--executor", "torch-checkpoint"], "Use --executor torch-compile"],
    [["--batch", "4"], "--batch is not supported for"],
    [["--method", "greedy"], "--budget limits the step's peak"],
    [["--method", "modules"], "--method is not supported for"],
    [["--pytorch-policy", "p.json"], "--pytorch-policy is not supported for"],
    [["--fsdp", "world=2"], "--fsdp is not supported for"],
  ])("refuses %j", async (options, said) => {
    const { code, stderr } = await remat("plan", path, "--budget", "80%", ...options);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(said) });
  });

  it("takes its executor by name, which other files are refused for with what to do", async () => {
    expect(await remat("plan", path, "--budget", "85%", "--executor", "torch-compile")).toMatchObject({ code: 0 });
    expect(await remat("plan", run, "--budget", "85%", "--executor", "torch-compile")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("remat.export_graphs("),
    });
  });

  it("refuses graphs of one budget", async () => {
    const one = join(folder, "one.json");
    writeFileSync(one, JSON.stringify({ ...file, partitions: file.partitions.slice(0, 1) }));
    expect(await remat("plan", one, "--budget", "80%")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("remat.export_graphs(..., budgets="),
    });
  });

  it("leaves what memory says of the first", async () => {
    const { stdout } = await remat("memory", path, "--format", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      peakBytes: measured[0].peakBytes,
      savedBytes: measured[0].savedBytes,
    });
  });
});
