import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { withOptimizer } from "@remat/sharding";
import { atNight } from "@remat/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { remat, rematIn } from "./run.js";

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
  readonly libraryBytes?: number;
  readonly endsRange?: boolean;
  readonly next?: { readonly batch: number; readonly isProven: boolean; readonly unproven?: object };
  readonly costPerMillion?: number;
}

async function answer(...args: string[]) {
  const { code, stdout, stderr } = await remat("fit", ...args, "--format", "json");
  return {
    code,
    stderr,
    ...(JSON.parse(stdout) as {
      rows: Row[];
      best: Row;
      command: string;
      refused: unknown[];
      notFitting: unknown[];
      notes: string[];
    }),
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
    // Each way of training once. The night compares all rows.
    const compared = rows.filter(
      ({ configuration: { device, optimizer } }) => atNight || (device === "l4" && optimizer === "adam"),
    );
    for (const { configuration, batch, peakBytes, memoryBytes, stepMs } of compared) {
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
        const plan = await ask(
          "plan",
          ...step,
          "--budget",
          `${memoryBytes}B`,
          "--iterations",
          "5000",
          "--workers",
          "1",
        );
        expect(plan.peakBytes).toBe(peakBytes);
      } else {
        const inBackward = configuration.way === "update-in-backward" ? ["--update-in-backward"] : [];
        const { peakBytes: stock, verdict } = await ask("memory", ...step, ...inBackward);
        expect(configuration.way === "stock" ? stock : verdict.earlyReleasePeakBytes).toBe(peakBytes);
        expect(stepMs).toBeGreaterThan(0);
      }
    }
  });

  /** A small network of which a search of few changes has no plan for the largest batches that have one. */
  const network = `
export default ({ tf }) => {
  const { conv2d, batchNormalization, maxPooling2d, activation, globalAveragePooling2d, dense } = tf.layers;
  const conv = (filters, more = {}) => conv2d({ filters, kernelSize: 3, padding: "same", ...more });
  return tf.sequential({ name: "net", layers: [
    conv(12, { activation: "relu", inputShape: [20, 20, 3] }), batchNormalization(),
    conv(16, { activation: "relu" }), maxPooling2d({ poolSize: 2 }),
    conv(24), batchNormalization(), activation({ activation: "relu" }),
    globalAveragePooling2d({}), dense({ units: 7, activation: "softmax" }),
  ] });
};
`;

  it("finds the largest batch of which a long search has a plan, and says what of the next is proven", async () => {
    const path = join(folder, "net.mjs");
    writeFileSync(path, network);
    const step = [path, "--backend", "cpu", "--optimizer", "adam"];
    const memory = 2_000_000;
    // Without launch costs, so that small searches find few plans.
    const device = join(folder, "unlaunched.json");
    writeFileSync(device, JSON.stringify({ name: "unlaunched", tflops: { float32: 0.768 }, memoryGBps: 51.2 }));
    const fit = ["--devices", device, "--memory", `${memory}B`, "--ways", "recompute", "--objective", "batch"];
    const planned = async (batch: number, ...more: string[]) => {
      const budget = ["--budget", `${memory}B`, "--workers", "1", "--format", "json"];
      return remat("plan", ...step, "--device", device, "--batch", String(batch), ...budget, ...more);
    };
    let first = 0;
    let most = 0;
    let proven = 0;
    for (let batch = 13; proven === 0 && batch < 20; batch++) {
      if ((await planned(batch, "--iterations", "20")).code === 0) first = batch;
      const { code, stderr } = await planned(batch, "--iterations", "100000");
      if (code === 0) most = batch;
      else if (stderr.includes("no plan fits")) proven = batch;
    }
    expect(proven).toBeGreaterThan(most);
    expect(most).toBeGreaterThan(first);
    const { best } = await answer(...step, ...fit, "--batch", "1..40", "--iterations", "20");
    expect(best.batch).toBe(most);
    expect(best.next).toMatchObject({ batch: most + 1, isProven: most + 1 === proven });
    expect(best.next!.unproven).toEqual(most + 1 === proven ? undefined : { from: most + 1, to: proven - 1 });
    const text = async (...more: string[]) => (await remat("fit", ...step, ...fit, ...more)).stdout;
    // For the largest batch alone, the search is too short to find the plan.
    const alone = await text("--batch", `${most},${most + 1}`, "--iterations", "1", "--max-overhead", "0.1%");
    expect(alone).toMatch(/not proven/);
  });

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
  });

  it("begins with what a cache has, and gives the same to the byte", async () => {
    const cache = join(folder, "cache");
    const asked = [...tiny, "--memory", "8MB", "--batch", "1..8", "--ways", "stock,early-release", "--cache", cache];
    const first = await remat("fit", ...asked);
    const kept = readdirSync(cache);
    expect(kept).toHaveLength(2);
    expect(await remat("fit", ...asked)).toEqual(first);
    // That it was read shows if it says something that cannot be.
    const path = join(cache, kept[0]);
    writeFileSync(path, readFileSync(path, "utf8").replace(/"stepMs":[\d.e-]+/, '"stepMs":1'));
    const again = await remat("fit", ...asked);
    expect(again.stdout).toBe(first.stdout);
    expect(again.stderr).toContain(`rejected an answer, which is computed again: ${path}`);
  });

  it("tells in one line that answers cannot be kept", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const asked = [...tiny, "--memory", "8MB", "--batch", "1..8", "--ways", "stock,early-release"];
    const { code, stderr } = await remat("fit", ...asked, "--cache", join(file, "cache"));
    expect(code).toBe(0);
    expect(stderr).toMatch(/^remat: --cache \S+ cannot be written \(ENOTDIR\): results are not stored, .*\n$/);
  });

  it("ends with 130 and the best so far where it is interrupted, and with what is whole where nothing is left", async () => {
    const asked = [...tiny, "--batch", "1..12", "--devices", "a100,l4", "--memory", "8MB", "--workers", "1"];
    let told = "";
    let interrupt = (): void => undefined;
    const run = rematIn(
      {
        onInterrupt(listener) {
          interrupt = listener;
          return () => undefined;
        },
        stderr: {
          isTTY: true,
          write(text) {
            told += text;
            // The first configuration is answered.
            if (/[1-7] of 8 ways/.test(told)) interrupt();
          },
        },
      },
      ...["fit", ...asked],
    );
    const { code, stdout } = await run;
    expect(stdout).toMatch(
      /: best of \d configurations: [\s\S]*interrupted: this is the best so far, and [1-7] configurations were not tried/,
    );
    expect(code).toBe(130);
    expect(told).toMatch(/of 8 ways/);
  });

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
      /^\/\/ .*\nimport \{ withMemoryBudget \} from "remat";\n\nawait withMemoryBudget\("\d+B", \(\) => model\.fit\(x, y, \{ batchSize: \d+ \}\)\);\n$/,
    );
  });

  it("says where batches end before memory does, and nothing of it where they do not", async () => {
    const asked = [...tiny, "--memory", "1GB", "--ways", "stock", "--devices", "a100"];
    const { stdout } = await remat("fit", ...asked, "--batch", "1..3");
    expect(stdout).toContain("batch 3 is the largest that was tried: a larger --batch may also fit\n");
    expect((await answer(...asked, "--batch", "1..3")).best).toMatchObject({ batch: 3, endsRange: true });
    const little = [...asked.slice(0, 3), "--memory", "12MB", ...asked.slice(5)];
    const { best } = await answer(...little, "--batch", "1..512");
    expect(best.next!.batch).toBe(best.batch + 1);
    expect(best.endsRange).toBeUndefined();
    expect((await remat("fit", ...little)).stdout).not.toContain("the last that was asked for");
    // As one run is recorded, no other batch can be asked for.
    expect((await answer(recorded, "--devices", "a100")).best.endsRange).toBeUndefined();
  });

  it("holds a run to the memory of a process where it was told what a process takes, else tensors alone", async () => {
    const asked = [...tiny, "--memory", "12MB", "--ways", "stock,recompute", "--batch", "1..4", "--devices", "here"];
    const alone = await answer(...asked, "--backend", "cpu");
    expect(alone.command).not.toContain("--memory");
    expect(alone.notes).toEqual([
      "all of --memory is used for tensors: --reserve 500MB keeps some of it for the process",
    ]);
    const reserved = await answer(...asked, "--backend", "cpu", "--reserve", "1MB");
    expect(reserved.command).toContain("--memory 12MB --reserve 1MB");
    expect(reserved.notes).toEqual([]);
  });

  it("answers for the backend that it names, and carries it on", async () => {
    const { command, notes } = await answer(...tiny, "--memory", "12MB", "--ways", "stock", "--batch", "1..4");
    expect(command).toContain("--backend tensorflow");
    expect(notes).toContain("steps are estimated for the tensorflow backend (choose another with --backend)");
    const named = await answer(...tiny, "--memory", "12MB", "--ways", "stock", "--batch", "1..4", "--backend", "wasm");
    expect(named.command).toContain("--backend wasm");
    expect(named.notes).toEqual([]);
  });

  it("takes devices of one's own, and what they cost, by either name", async () => {
    const device = join(folder, "mine.json");
    const figures = { name: "mine", tflops: { float32: 10 }, memoryGBps: 500, memoryBytes: 8_000_000 };
    writeFileSync(device, JSON.stringify({ ...figures, pricePerHour: 3.6 }));
    const asked = [...tiny, "--batch", "1..8", "--ways", "stock", "--objective", "cost"];
    const one = await answer(...asked, "--device", device);
    // Kernels of a CPU take part of the device's memory.
    expect(one.best.memoryBytes + one.best.libraryBytes!).toBe(8_000_000);
    expect(one.best.costPerMillion).toBeCloseTo(1000 / one.best.samplesPerSecond, 9);
    expect(await answer(...asked, "--devices", device)).toEqual(one);
    const dearer = await answer(...asked, "--device", device, "--price", "mine=7.2");
    expect(dearer.best.costPerMillion).toBeCloseTo(2 * one.best.costPerMillion!, 12);
  });

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
  });

  it.each([
    [["--batch", "4,8", "--global-batch", "16"], "TensorFlow.js updates weights after every pass"],
    [["--batch", "4", "--ways", "recompute", "--ranks", "2"], "is supported for PyTorch runs only"],
  ])("says why nothing can be of %j", async (args, reason) => {
    const { code, stderr } = await remat("fit", ...tiny, ...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`no configuration is possible: .*${reason}`));
  });

  it("writes a page with a matrix of what it prints", async () => {
    const path = join(folder, "fit.html");
    const { rows } = await answer(...tiny, "--batch", "1..4", "--devices", "a100,l4", "--html", path);
    const page = readFileSync(path, "utf8");
    expect(page.match(/<td [^>]*data-rank=/g)).toHaveLength(rows.length);
    expect(page).toContain("Times: estimated by the roofline of each device");
  });

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
    expect(stdout).toMatch(/Configurations that do not fit[\s\S]*stock\s+4 /);
    expect(stderr).toContain("nothing fits with a batch of 4 or more");
  });
});

describe("remat fit RUN", () => {
  it("shards a run, and writes the calls of fully_shard", async () => {
    const path = join(folder, "shard.py");
    const asked = ["--devices", "a100", "--precision", "bf16", "--ways", "stock,offload", "--ranks", "8"];
    const { code, rows, command } = await answer(recorded, ...asked, "--apply", path);
    expect([code, command]).toEqual([0, null]);
    // Without --apply, the next command is the one that writes them.
    const told = await answer(recorded, ...asked);
    expect(told.command).toBe(["remat", "fit", recorded, ...asked, "--apply", "shard.py"].join(" "));
    expect(told.rows).toEqual(rows);
    expect(rows).toHaveLength(2);
    const { stdout } = await remat("memory", recorded, "--fsdp", "world=8,bf16", "--format", "json");
    expect(rows.find(({ configuration }) => configuration.way === "stock")?.peakBytes).toBe(
      JSON.parse(stdout).peakBytes,
    );
    expect(readFileSync(path, "utf8")).toMatch(
      /def shard\(model\):[\s\S]*MixedPrecisionPolicy\(param_dtype=torch\.bfloat16/,
    );
  });
});

it("tells of a recorded run with its own optimizer, of one that it can be given, and why not of others", async () => {
  const optimizers = "adam,adamw8bit,sgd";
  const { code, rows, refused, notes } = await answer(recorded, "--optimizer", optimizers, "--ways", "stock");
  expect(code).toBe(0);
  const peaks = Object.fromEntries(rows.map(({ configuration, peakBytes }) => [configuration.optimizer, peakBytes]));
  const memory = async (...args: string[]) =>
    JSON.parse((await remat("memory", recorded, ...args, "--format", "json")).stdout);
  expect(peaks["adam"]).toBe((await memory()).peakBytes);
  const trace = readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(recorded)).toString()));
  expect(peaks).toEqual({ adam: peaks["adam"], adamw8bit: heldPeak(withOptimizer(trace, "adamw8bit")).peakBytes });
  expect(refused).toMatchObject([
    { configuration: { optimizer: "sgd" }, reason: expect.stringContaining("was not recorded with sgd") },
  ]);
  expect(notes.join()).toContain("bitsandbytes.optim.AdamW8bit(model.parameters()) instead of the recorded optimizer");
});

describe("invalid options", () => {
  it.each([
    [[...tiny, "--optimizer", "adamw8bit"], "bitsandbytes.optim.AdamW8bit(model.parameters()) is a PyTorch optimizer"],
    [
      [...tiny, "--ranks", "1,8", "--apply", join(folder, "shard.py")],
      "is a TensorFlow.js model, and fully_shard is for PyTorch only",
    ],
    [[...tiny, "--optimizer", "lion"], 'unknown optimizer "lion"'],
    [[...tiny, "--precision", "bf16"], "TensorFlow.js supports float32 only"],
    [[...tiny, "--devices", "tpu"], 'unknown device "tpu"'],
    [[...tiny, "--devices", "cpu"], "the memory of cpu is unknown"],
    [[...tiny, "--device", "l4", "--devices", "a100"], "--device and --devices cannot be combined"],
    [[...tiny, "--devices", "a100,l4,a100"], '--devices names "a100" twice'],
    [[...tiny, "--matrix"], "--matrix needs a terminal"],
    [[...tiny, "--apply", join(folder, "none", "file")], "Choose another file with --apply"],
    [[...tiny, "--html", join(folder, "none", "file")], "Choose another file with --html"],
    [[...tiny, "--parquet", join(folder, "none", "file")], "Choose another file with --parquet"],
    [[...tiny, "--store", recorded], "is a file, and --store needs a folder"],
    [[...tiny, "--store", join(folder, "fits.sqlite")], "expects a folder, and"],
    [[...tiny, "--sqlite", join(folder, "fits.sqlite")], "Add --store fits"],
    [
      [...tiny, "--store", join(folder, "fits"), "--sqlite", join(folder, "none", "file")],
      "Choose another file with --sqlite",
    ],
    [[...tiny, "--batch", "8..2"], "--batch 8..2 is empty"],
    [[...tiny, "--objective", "cost"], "--objective cost needs prices per hour"],
    [[...tiny, "--price", "h100=2"], '--price names "h100", which is not one of --devices'],
    [[...tiny, "--memory", "50%"], "--memory expects a size"],
    [[...tiny, "--memory", "0"], '--memory expects a size above 0 with a unit, such as 4GB; found "0"'],
    [[...tiny, "--ways", "magic"], "--ways expects one of stock"],
    [[...tiny, "--memory", "1GB", "--reserve", "1GB"], "--reserve"],
    [[recorded, "--optimizer", "lion"], 'unknown optimizer "lion" for a recorded run'],
    [[recorded, "--batch", "4096"], "was recorded only with a batch of"],
    [[...tiny.slice(0, 1), recorded], "is a model, so remat fit traces it at each batch and reads no other files"],
  ])("is refused: %j", async (args, message) => {
    const { code, stderr, stdout } = await remat("fit", ...args);
    expect({ code: code > 0, stdout }).toEqual({ code: true, stdout: "" });
    expect(stderr).toContain(message);
  });
});
