import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const model = example("transformer/model.js");
const recorded = example("llama-pytorch/run-512.json.gz");
const tiny = [model, "--size", "tiny"];
const folder = mkdtempSync(join(tmpdir(), "remat-fit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Row {
  readonly configuration: {
    readonly optimizer: string;
    readonly way: string;
    readonly device: string;
    readonly ranks: number;
  };
  readonly batch: number;
  readonly peakBytes: number;
  readonly memoryBytes: number;
  readonly stepMs: number;
  readonly samplesPerSecond: number;
  readonly overhead: number;
  readonly costPerMillion?: number;
}

async function answer(...args: string[]) {
  const { code, stdout, stderr } = await remat("fit", ...args, "--format", "json");
  return {
    code,
    stderr,
    ...(JSON.parse(stdout) as { rows: Row[]; best: Row; command: string; refused: unknown[]; notFitting: unknown[] }),
  };
}

describe("remat fit MODEL", () => {
  const given = ["--memory", "12MB", "--optimizer", "sgd,adam", "--batch", "1..12", "--devices", "a100,l4"];

  it("shows of each way the batch, and of each row the peak that the other commands show", async () => {
    const { code, rows, best, command } = await answer(...tiny, ...given);
    expect(code).toBe(0);
    const ways = ["stock", "early-release", "update-in-backward", "recompute"];
    expect(rows.map(({ configuration: { device, optimizer, way } }) => `${device} ${optimizer} ${way}`).sort()).toEqual(
      ["a100", "l4"]
        .flatMap((device) =>
          ["adam", "sgd"].flatMap((optimizer) => [...ways].sort().map((way) => `${device} ${optimizer} ${way}`)),
        )
        .sort(),
    );
    expect(best.samplesPerSecond).toBe(Math.max(...rows.map(({ samplesPerSecond }) => samplesPerSecond)));
    expect(command).toMatch(new RegExp(`--batch ${best.batch} .*--optimizer ${best.configuration.optimizer}`));
    for (const { configuration, batch, peakBytes, memoryBytes, stepMs } of rows.filter((_, i) => i % 2 === 0)) {
      expect(peakBytes).toBeLessThanOrEqual(memoryBytes);
      const step = [
        ...tiny,
        "--batch",
        String(batch),
        "--optimizer",
        configuration.optimizer,
        "--device",
        configuration.device,
        "--format",
        "json",
      ];
      const ask = async (...args: string[]) => JSON.parse((await remat(...args)).stdout);
      if (configuration.way === "recompute") {
        const plan = await ask("plan", ...step, "--budget", `${memoryBytes}B`, "--iterations", "200", "--workers", "1");
        expect(plan.peakBytes).toBe(peakBytes);
      } else {
        const inBackward = configuration.way === "update-in-backward" ? ["--update-in-backward"] : [];
        const { peakBytes: stock, verdict } = await ask("memory", ...step, ...inBackward);
        expect(configuration.way === "stock" ? stock : verdict.earlyReleasePeakBytes).toBe(peakBytes);
        expect(stepMs).toBeGreaterThan(0);
      }
    }
  }, 240_000);

  it("finds with plans nothing worse than any batch by itself", async () => {
    const one = [...tiny, "--memory", "5MB", "--ways", "recompute", "--optimizer", "adam", "--max-overhead", "50%"];
    const { best } = await answer(...one, "--batch", "1..7");
    const rates: number[] = [];
    for (let batch = 1; batch <= 7; batch++) {
      const { stdout } = await remat("fit", ...one, "--batch", String(batch), "--format", "json");
      rates.push(...(JSON.parse(stdout) as { rows: Row[] }).rows.map(({ samplesPerSecond }) => samplesPerSecond));
    }
    expect(rates.length).toBeGreaterThan(0);
    expect(best.samplesPerSecond).toBe(Math.max(...rates));
  }, 120_000);

  it("begins with what a cache has, and gives the same to the byte", async () => {
    const cache = join(folder, "cache");
    const asked = [...tiny, "--memory", "8MB", "--batch", "1..8", "--ways", "stock,early-release", "--cache", cache];
    const first = await remat("fit", ...asked);
    const kept = readdirSync(cache);
    expect(kept).toHaveLength(2);
    expect(await remat("fit", ...asked)).toEqual(first);
    // That it was read shows where it says something else.
    const path = join(cache, kept[0]);
    writeFileSync(path, readFileSync(path, "utf8").replace(/"stepMs":[\d.e-]+/, '"stepMs":1'));
    expect((await remat("fit", ...asked)).stdout).not.toBe(first.stdout);
  }, 60_000);

  it("writes the line that keeps to the best", async () => {
    const path = join(folder, "train.js");
    const { code } = await remat(
      "fit",
      ...tiny,
      "--memory",
      "5MB",
      "--batch",
      "1..8",
      "--ways",
      "recompute",
      "--apply",
      path,
    );
    expect(code).toBe(0);
    expect(readFileSync(path, "utf8")).toMatch(
      /^\/\/ .*\nimport \{ withMemoryBudget \} .*\n\nawait withMemoryBudget\("\d+B", \(\) => model\.fit\(x, y, \{ batchSize: \d+ \}\)\);\n$/,
    );
  }, 60_000);

  it("takes devices of one's own, and what they cost, by either name", async () => {
    const device = join(folder, "mine.json");
    const figures = { name: "mine", tflops: { float32: 10 }, memoryGBps: 500, memoryBytes: 8_000_000 };
    writeFileSync(device, JSON.stringify({ ...figures, pricePerHour: 3.6 }));
    const asked = [...tiny, "--batch", "1..8", "--ways", "stock", "--objective", "cost"];
    const one = await answer(...asked, "--device", device);
    expect(one.best.memoryBytes).toBe(8_000_000);
    expect(one.best.costPerMillion).toBeCloseTo(1000 / one.best.samplesPerSecond, 9);
    expect(await answer(...asked, "--devices", device)).toEqual(one);
    const dearer = await answer(...asked, "--device", device, "--price", "mine=7.2");
    expect(dearer.best.costPerMillion).toBeCloseTo(2 * one.best.costPerMillion!, 12);
  }, 60_000);

  it("says why ranks have no times, and tells of one rank's all the same", async () => {
    const device = join(folder, "alone.json");
    const figures = { name: "alone", tflops: { float32: 10 }, memoryGBps: 500, memoryBytes: 1e12 };
    writeFileSync(device, JSON.stringify(figures));
    const asked = [recorded, "--device", device, "--ranks", "1,2", "--precision", "bf16", "--ways", "stock"];
    const { stdout } = await remat("fit", ...asked);
    expect(stdout).toContain("ranks of alone have no times");
    const { rows } = await answer(...asked);
    expect(rows.map(({ configuration: { ranks }, stepMs }) => [ranks, stepMs > 0])).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(
      (await remat("fit", ...asked, "--network", "per-node=8,node=450,between=50,latency=5")).stdout,
    ).not.toContain("no times");
  }, 60_000);

  it.each([
    [["--batch", "4,8", "--global-batch", "16"], "TensorFlow.js updates after each"],
    [["--batch", "4", "--ways", "recompute", "--ranks", "2"], "is simulated on runs of PyTorch"],
  ])("says why nothing can be of %j", async (args, reason) => {
    const { code, stderr } = await remat("fit", ...tiny, ...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`none of what was asked for can be: .*${reason}`));
  });

  it("writes a page with a matrix of what it prints", async () => {
    const path = join(folder, "fit.html");
    const { rows } = await answer(...tiny, "--batch", "1..4", "--devices", "a100,l4", "--html", path);
    const page = readFileSync(path, "utf8");
    expect(page.match(/<td [^>]*data-rank=/g)).toHaveLength(rows.length);
    expect(page).toContain("Times: roofline of each device");
  }, 60_000);

  it("fails where nothing fits, saying what most of it is", async () => {
    const { code, stdout, stderr } = await remat(
      "fit",
      ...tiny,
      "--memory",
      "100kB",
      "--batch",
      "4..8",
      "--ways",
      "stock,recompute",
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/What does not fit[\s\S]*stock\s+4 /);
    expect(stderr).toContain("nothing fits with a batch of 4 or more");
  }, 60_000);
});

describe("remat fit RUN", () => {
  it("shards a run, and writes the calls of fully_shard", async () => {
    const path = join(folder, "shard.py");
    const { code, rows } = await answer(
      recorded,
      "--devices",
      "a100",
      "--ranks",
      "8",
      "--precision",
      "bf16",
      "--ways",
      "stock,offload",
      "--apply",
      path,
    );
    expect(code).toBe(0);
    expect(rows).toHaveLength(2);
    const { stdout } = await remat("memory", recorded, "--fsdp", "world=8,bf16", "--format", "json");
    expect(rows.find(({ configuration }) => configuration.way === "stock")?.peakBytes).toBe(
      JSON.parse(stdout).peakBytes,
    );
    expect(readFileSync(path, "utf8")).toMatch(
      /def shard\(model\):[\s\S]*MixedPrecisionPolicy\(param_dtype=torch\.bfloat16/,
    );
  }, 120_000);
});

describe("what makes no sense", () => {
  it.each([
    [[...tiny, "--optimizer", "adamw8bit"], 'no optimizer is called "adamw8bit"'],
    [[...tiny, "--precision", "bf16"], "trains in float32"],
    [[...tiny, "--devices", "tpu"], 'there is no device "tpu"'],
    [[...tiny, "--devices", "cpu"], "nobody says how much memory cpu has"],
    [[...tiny, "--device", "l4", "--devices", "a100"], "--device and --devices are the same"],
    [[...tiny, "--devices", "a100,l4,a100"], '--devices names "a100" twice'],
    [[...tiny, "--matrix"], "there is no terminal here"],
    [[...tiny, "--apply", join(folder, "none", "file")], "Choose another file with --apply"],
    [[...tiny, "--html", join(folder, "none", "file")], "Choose another file with --html"],
    [[...tiny, "--parquet", join(folder, "none", "file")], "Choose another file with --parquet"],
    [[...tiny, "--store", join(folder, "none", "file")], "Choose another file with --store"],
    [[...tiny, "--batch", "8..2"], "--batch 8..2 is empty"],
    [[...tiny, "--objective", "cost"], "--objective cost needs what devices cost"],
    [[...tiny, "--price", "h100=2"], '--price names "h100", which is none of --devices'],
    [[...tiny, "--memory", "50%"], "--memory expects a size"],
    [[...tiny, "--memory", "0"], '--memory expects a size above 0 with a unit, such as 4GB, found "0"'],
    [[...tiny, "--ways", "magic"], "--ways expects one of stock"],
    [[...tiny, "--memory", "1GB", "--reserve", "1GB"], "leaves nothing"],
    [[recorded, "--optimizer", "adam"], "--optimizer cannot change run-512"],
    [[recorded, "--batch", "4096"], "was recorded with a batch of"],
    [[...tiny.slice(0, 1), recorded], "is a model, which is traced at every batch"],
  ])("is refused: %j", async (args, message) => {
    const { code, stderr, stdout } = await remat("fit", ...args);
    expect({ code: code > 0, stdout }).toEqual({ code: true, stdout: "" });
    expect(stderr).toContain(message);
  });
});
