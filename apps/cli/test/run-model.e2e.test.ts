import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nativeApp, sampledCases } from "@remat/testkit";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat, rematIn } from "./run.js";

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** The folder of a package that has tfjs-node with its addon, if the native backend is available. */
const nativeFolder = nativeApp();

let folder: string;
const cacheBefore = process.env["REMAT_CACHE_DIR"];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "remat-run-"));
  // Times of ops are kept between runs, but not between those of tests and those of people.
  process.env["REMAT_CACHE_DIR"] = folder;
  if (nativeFolder === undefined) return;
  // As if `remat setup native` had put it there.
  mkdirSync(join(folder, "native"));
  for (const name of ["tfjs-node", "tfjs-node-gpu"]) symlinkSync(nativeFolder, join(folder, `native/${name}-4.22.0`));
});
afterAll(() => {
  if (cacheBefore === undefined) delete process.env["REMAT_CACHE_DIR"];
  else process.env["REMAT_CACHE_DIR"] = cacheBefore;
  rmSync(folder, { recursive: true, force: true });
});

function keras(activation: string): string {
  const path = join(folder, `${activation}.model.json`);
  writeFileSync(path, JSON.stringify(twoLayers(activation)));
  return path;
}

async function runJson(...args: string[]) {
  const { code, stdout, stderr } = await remat("run", ...args, "--format", "json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("remat run MODEL without a native backend", () => {
  const cpu = ["--backend", "cpu", "--steps", "3"];

  it("refuses a step that has no room in a memory before it runs, and ends one whose process takes more", async () => {
    const step = [example("foo/model.js"), "--backend", "cpu", "--steps", "1"];
    const { predicted } = await runJson(...step, "--memory", "16GB");
    const told = async (...args: string[]) => {
      let shown = "";
      const write = (text: string): unknown => (shown += text);
      const { code, stdout } = await rematIn({ stderr: { write, isTTY: true, columns: 200 } }, "run", ...step, ...args);
      return { code, stdout, shown };
    };
    const released = await told("--early-release", "--format", "json");
    expect(released.shown).toContain("timing");
    for (const [way, { peakBytes }] of [
      [[], predicted],
      [["--early-release"], JSON.parse(released.stdout).predicted],
    ] as const) {
      const refused = await told(...way, "--memory", `${peakBytes + 99}B`, "--reserve", "100B");
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.shown).toContain("Nothing was run.");
      // No op was timed either.
      expect(refused.shown).not.toContain("timing");
    }
    // Libraries alone are larger than that.
    const over = await remat("run", ...step, "--memory", `${predicted.peakBytes + 100}B`, "--reserve", "100B");
    expect(over).toMatchObject({ code: 1, stdout: "" });
    const [, least] = /libraries alone take .* --reserve (\d+)B/.exec(over.stderr)!;
    // Memory of a model other than tensors exceeds the difference between two processes.
    const takingMore = join(folder, "taking-more.mjs");
    const url = pathToFileURL(example("foo/model.js"));
    writeFileSync(
      takingMore,
      `import build from "${url}";\nconst held = new Uint8Array(2 ** 28).fill(1);\nexport default (args) => ({ ...build(args), held });\n`,
    );
    const reserveBytes = Number(least) + 2 ** 26;
    const ended = await remat(
      "run",
      takingMore,
      ...step.slice(1),
      "--memory",
      `${reserveBytes + predicted.peakBytes}B`,
      "--reserve",
      `${reserveBytes}B`,
    );
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    const [, took] = /stopped after step 1: .* Pass --reserve (\d+)B/.exec(ended.stderr)!;
    expect(Number(took)).toBeGreaterThan(reserveBytes);
    const asTold = ["--memory", `${Number(took) + 2 ** 26 + predicted.peakBytes}B`, "--reserve", `${took}B`];
    expect(await remat("run", takingMore, ...step.slice(1), ...asTold)).toMatchObject({ code: 0 });
    expect((await remat("run", ...step, "--reserve", "1MB")).stderr).toContain("--reserve is a part of --memory");
  });

  const ways: readonly (readonly [string, readonly string[]])[] = [
    ["as stock", []],
    ["with early release", ["--early-release"]],
    ["with weights updated in the backward pass", ["--early-release", "--update-in-backward"]],
    ["within a budget", ["--budget", "70%", "--time", "1s"]],
  ];
  it.each(sampledCases(ways, 2, 1))(
    "holds %s what was predicted to the byte, and is equal to stock bit for bit",
    async (_, options) => {
      const { predicted, measured, stock, verification, losses, batch } = await runJson(
        example("transformer/model.js"),
        "--size",
        "tiny",
        "--verify",
        "--backend",
        "wasm",
        "--steps",
        "3",
        ...options,
      );
      expect(measured.peakBytes).toBe(predicted.peakBytes);
      expect(measured.bytesByCategory).toEqual(predicted.bytesByCategory);
      expect([measured.ops, measured.recomputedOps > 0]).toEqual([predicted.ops, predicted.recomputedOps > 0]);
      if (options.length === 0) expect(predicted).toEqual(stock);
      else expect(predicted.peakBytes).toBeLessThan(0.7 * stock.peakBytes);
      expect(batch).toBe(2);
      expect(losses).toHaveLength(3);
      expect(verification).toMatchObject({ steps: 3, isEqual: true });
      // Gradients that the update has consumed are not among them.
      expect(verification.tensors).toBeGreaterThan(options.includes("--update-in-backward") ? 80 : 100);
      expect(measured.stepMs).toBeGreaterThan(0);
      expect(measured.residentBytes).toBeGreaterThan(0);
    },
  );

  it("starts from the weights beside a Keras model, or of another file, where there are any", async () => {
    const pathOf = (name: string): string => join(folder, name);
    const topology = {
      class_name: "Sequential",
      config: {
        name: "m",
        layers: [
          { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, 3] } },
          { class_name: "Dense", config: { name: "d", units: 1 } },
        ],
      },
    };
    const weights = [["d/kernel", [3, 1]] as const, ["d/bias", [1]] as const].map(([name, shape]) => ({
      ...{ name, shape, dtype: "float32" },
    }));
    mkdirSync(pathOf("weighted"));
    const json = { modelTopology: topology, weightsManifest: [{ paths: ["w.bin"], weights }] };
    for (const name of ["weighted/model.json", "bare.json"]) writeFileSync(pathOf(name), JSON.stringify(json));
    writeFileSync(pathOf("weighted/w.bin"), new Uint8Array(new Float32Array([1, 2, 3, 0.5]).buffer));
    writeFileSync(pathOf("batch.json"), JSON.stringify({ inputs: [[1, 1, 1]], targets: [[0]] }));
    const lossOf = async (...args: string[]): Promise<[loss: number, notes: string]> => {
      const { losses, notes } = await runJson(
        ...args,
        "--data",
        pathOf("batch.json"),
        "--backend",
        "cpu",
        "--steps",
        "1",
      );
      return [losses[0], notes.join("\n")];
    };
    // (1 + 2 + 3 + 0.5)², which random weights hardly give.
    expect((await lossOf(pathOf("weighted/model.json")))[0]).toBe(42.25);
    expect((await lossOf(pathOf("bare.json"), "--weights", pathOf("weighted/model.json")))[0]).toBe(42.25);
    const [loss, notes] = await lossOf(pathOf("bare.json"));
    expect(loss).not.toBe(42.25);
    expect(notes).toContain("its weight files are not beside it (w.bin): weights have their initial values");
  });

  it("takes cross-entropy after a softmax, else mean squared error, and says so", async () => {
    const softmax = await runJson(keras("softmax"), "--batch", "16", ...cpu);
    expect(softmax.notes.join("\n")).toMatch(
      /no loss in the model: using categorical cross-entropy.*\n.*SGD with a learning rate of 0.01/,
    );
    // For guesses among five classes: about ln 5.
    expect(softmax.losses[0]).toBeGreaterThan(1);
    expect(softmax.losses[0]).toBeLessThan(3);
    const linear = await runJson(keras("linear"), "--batch", "16", ...cpu);
    expect(linear.notes.join("\n")).toMatch(/no loss in the model: using mean squared error/);
    const told = await runJson(keras("linear"), "--batch", "16", "--loss", "sum", "--optimizer", "adam", ...cpu);
    expect(told.notes.join("\n")).not.toMatch(/mean squared|SGD/);
    expect(told.measured.bytesByCategory.optimizerState).toBeGreaterThan(2 * 4 * (32 * 64 + 64 * 5));
  });

  it("gives the same losses for the same seed, others for another, and its own for given data", async () => {
    const losses = async (...options: string[]) =>
      (await runJson(keras("linear"), "--batch", "4", ...cpu, ...options)).losses;
    const first = await losses();
    expect(await losses()).toEqual(first);
    expect(await losses("--seed", "2")).not.toEqual(first);
    const data = join(folder, "batch.json");
    const zeros = (n: number, m: number) => Array.from({ length: n }, () => new Array(m).fill(0));
    writeFileSync(data, JSON.stringify({ inputs: zeros(6, 32), targets: zeros(6, 5) }));
    // Nothing in, nothing expected: without biases that is a loss of zero.
    const given = await runJson(keras("linear"), "--data", data, ...cpu);
    expect([given.batch, given.losses]).toEqual([6, [0, 0, 0]]);
  });

  it("says that stock differs from itself, and goes no further", async () => {
    const { code, stdout } = await remat("run", fixture("unsteady-model.js"), "--verify", ...cpu);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^verify: two baseline runs differ: the loss in step 1 is .*Nothing after that can be compared\.$/m,
    );
  });

  it("shows predicted beside measured", async () => {
    const { stdout } = await remat("run", example("foo/model.js"), "--early-release", "--verify", ...cpu);
    const shown = stdout
      .replace(/\d+(\.\d+)? (µs|ms|s)(?!\w)/g, "N time")
      .replace(/of \d+(\.\d+)? GiB \(this machine\)\./, "of N (this machine).")
      .replace(/\d+(\.\d+)? [KMG]?i?B(?= +growth)/g, "N B")
      .replace(/[+-]\d+\.\d%/g, "±N%");
    expect(shown.replace(/ {2,}/g, "  ").replace(/=+/g, "=")).toMatchSnapshot();
  });

  it("judges by the device that is named, and lists as many storages as are asked for, in the unit that is", async () => {
    const device = join(folder, "small.json");
    writeFileSync(device, JSON.stringify({ name: "small", tflops: { float32: 1 }, memoryGBps: 1, memoryBytes: 4096 }));
    const options = ["--early-release", ...cpu, "--device", device, "--top", "2", "--units", "KiB"];
    const { verdict, measured } = await runJson(keras("linear"), "--batch", "8", ...options);
    expect(verdict).toMatchObject({ device: "small", deviceMemoryBytes: 4096, fits: false });
    expect(verdict.sentence).toMatch(
      /^Does not fit: peak memory is [\d.]+ of 4\.0 KiB \(small\), [\d.]+ KiB too much\. .*Measured: [\d.]+ KiB \([\d.]+%\)\. This does not fit either\./,
    );
    expect(measured.moment.largest).toHaveLength(2);
    const here = await runJson(keras("linear"), "--batch", "8", "--early-release", ...cpu);
    expect(here.verdict).toMatchObject({ device: "this machine", fits: true });
    expect(here.measured.moment.largest.length).toBeGreaterThan(2);
    expect(here.measured.moment.largest.slice(0, 2)).toEqual(measured.moment.largest);
  });

  it("refuses wrong command lines, and budgets below the smallest, with the next step", async () => {
    const both = await remat("run", example("foo/model.js"), "--early-release", "--budget", "1GB", ...cpu);
    expect([both.code, both.stderr]).toEqual([2, expect.stringMatching(/cannot be combined/)]);
    const size = await remat("run", example("foo/model.js"), "--budget", "lots", ...cpu);
    expect([size.code, size.stderr]).toEqual([2, expect.stringMatching(/--budget: expected a budget .*found "lots"/)]);
    const tight = await remat("run", example("foo/model.js"), "--budget", "1kB", "--time", "500ms", ...cpu);
    expect([tight.code, tight.stderr]).toEqual([
      1,
      expect.stringMatching(
        /no plan fits within 1000 B\. .* alone needs .*the smallest peak found is \d+B \(.*\)\. Raise/,
      ),
    ]);
    const optimizer = await remat("run", example("foo/model.js"), "--optimizer", "sdg", ...cpu);
    expect([optimizer.code, optimizer.stderr]).toEqual([2, expect.stringMatching(/unknown optimizer "sdg"/)]);
  });
});

it("runs stock in a process that has no part of the hook", () => {
  const metafile = JSON.parse(readFileSync(join(inject("processes"), "metafile.json"), "utf8")) as Metafile;
  const inputs = (name: string) => {
    const [, output] = Object.entries(metafile.outputs).find(([path]) => path.endsWith(`${name}-process.mjs`))!;
    return Object.keys(output.inputs);
  };
  const hook = /packages\/(dispatch-hook\/src\/(?!backends|kernels)|checkpoint|mod-tracker|tracer\/src\/trace-step)/;
  expect(inputs("stock").filter((path) => hook.test(path))).toEqual([]);
  // The expression would find them.
  expect(inputs("executor").filter((path) => hook.test(path)).length).toBeGreaterThan(10);
});

describe.runIf(nativeFolder !== undefined)("remat run MODEL on tensorflow", () => {
  const runs = [
    ["transformer/model.js", ["--max-overhead", "20%", "--optimizer", "adam"]],
    ["keras/mobilenet_v2.model.json", ["--batch", "1", "--max-overhead", "20%"]],
  ] as const;

  it.each(sampledCases(runs, 2))(
    "%s with %j is equal to stock bit for bit, within what was predicted to the byte",
    async (path, options) => {
      const args = [
        example(path),
        "--size",
        "tiny",
        "--backend",
        "tensorflow",
        "--steps",
        "3",
        "--time",
        "2s",
        "--verify",
      ];
      const { predicted, measured, verification } = await runJson(...args, ...options);
      expect(measured.peakBytes).toBe(predicted.peakBytes);
      expect(verification).toMatchObject({ isEqual: true });
    },
  );
});
