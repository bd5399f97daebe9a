import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { goldenFiles } from "@remat/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));
const mlp = goldenFiles().find((file) => file.name === "sac_03_mlp")?.path ?? "";

describe("remat estimate TRACE", () => {
  it("estimates a PyTorch exporter's file, writes a trace, and estimates that alike on the same device", async () => {
    const trace = join(folder, "mlp.remat.jsonl.gz");
    const first = await remat("estimate", mlp, "--trace", trace, "--format", "csv", "--depth", "9");
    expect(first).toMatchObject({ code: 0, stderr: "" });
    const second = await remat("estimate", trace, "--format", "csv", "--depth", "9");
    expect(second).toEqual(first);
  });

  it("cannot time ops of PyTorch, and says what to do instead", async () => {
    const { code, stderr } = await remat("estimate", mlp, "--mode", "operator-level-benchmark", "--backend", "cpu");
    expect(code).toBe(1);
    expect(stderr).toContain("Estimate them with --mode operator-level-cost-model --device a100");
    expect(stderr).toContain("remat.record_step");
    expect((await remat("estimate", mlp, "--mode", "operator-level-cost-model", "--device", "a100")).code).toBe(0);
  });

  it("counts a random op in-place once, and with --as-pytorch with both of its groups, as PyTorch does", async () => {
    const last = async (...options: string[]): Promise<number> => {
      const { stdout } = await remat("estimate", mlp, "--format", "json", ...options);
      const [{ tradeOff }] = (JSON.parse(stdout) as { modules: { tradeOff: { recomputationTime: number[] } }[] })
        .modules;
      return tradeOff.recomputationTime.at(-1)!;
    };
    expect(await last()).toBeCloseTo(1, 12);
    expect(await last("--as-pytorch")).toBeGreaterThan(1.001);
  });

  it("estimates the times of PyTorch's RuntimeEstimator with --as-pytorch, and longer ones of ops that compute without", async () => {
    const { path } = goldenFiles().find(({ name }) => name === "rt_02_transformer")!;
    const { results } = JSON.parse(gunzipSync(readFileSync(path)).toString());
    const times = async (...options: string[]): Promise<readonly number[]> => {
      const { stdout } = await remat("estimate", path, "--device", "a100", "--format", "json", ...options);
      const { forwardMs, backwardMs, optimizerMs } = JSON.parse(stdout);
      // PyTorch counts the update as forward.
      return [forwardMs + optimizerMs, backwardMs];
    };
    const { fw, bw } = results.mod_runtimes.Global;
    const [forwardMs, backwardMs] = await times("--as-pytorch");
    expect(forwardMs / fw).toBeCloseTo(1, 9);
    expect(backwardMs / bw).toBeCloseTo(1, 9);
    expect((await times())[0]).toBeGreaterThan(1.2 * forwardMs);
  });

  it("estimates a model with an in-place op on a clone, which only PyTorch's own way refuses", async () => {
    const { path } = goldenFiles().find(({ name }) => name === "sac_09a_err_clone_inplace")!;
    for (const command of [["estimate"], ["ui", "--once"]]) expect((await remat(...command, path)).code).toBe(0);
    const { code, stderr } = await remat("estimate", path, "--as-pytorch");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^remat: module ErrClone: in-place op 1 .*\n$/);
  });

  it("prices the same trace for another device", async () => {
    const ms = async (memoryGBps: number): Promise<number> => {
      const device = join(folder, "device.json");
      writeFileSync(device, JSON.stringify({ name: "mine", tflops: { float32: 1 }, memoryGBps }));
      return JSON.parse((await remat("estimate", mlp, "--device", device, "--format", "json")).stdout).forwardMs;
    };
    expect(await ms(1)).toBeGreaterThan(await ms(2));
  });

  it("takes a device from a file and names the field that is wrong", async () => {
    const mine = join(folder, "mine.json");
    writeFileSync(
      mine,
      JSON.stringify({ name: "mine", tflops: { float32: 1 }, memoryGBps: 100, allocationUnitBytes: 256 }),
    );
    expect((await remat("estimate", mlp, "--device", mine)).stdout).toContain("estimated for mine");
    writeFileSync(mine, JSON.stringify({ name: "mine", tflops: { float32: 1 }, memoryGBps: "fast" }));
    const { code, stderr } = await remat("estimate", mlp, "--device", mine);
    expect(code).toBe(1);
    expect(stderr).toContain("mine.json");
    expect(stderr).toContain("memoryGBps");
  });

  it("reads a trace that breaks off, or is damaged in its midst, and says so; what plans it refuses that, naming line and field", async () => {
    const whole = join(folder, "whole.remat.jsonl");
    await remat("estimate", mlp, "--trace", whole);
    const text = readFileSync(whole, "utf8");
    const cut = join(folder, "cut.remat.jsonl");
    writeFileSync(cut, text.slice(0, Math.floor(text.length * 0.7)));
    const { code, stdout } = await remat("estimate", cut);
    expect(code).toBe(0);
    expect(stdout).toMatch(/note: the trace is cut short after line \d+/);
    const corrupt = join(folder, "corrupt.remat.jsonl");
    const middle = text.indexOf('"t":"op"', text.length / 2);
    writeFileSync(corrupt, `${text.slice(0, middle)}"t":"pp"${text.slice(middle + 8)}`);
    const note = /the trace is damaged after line \d+ \(.*field 't': .*\): all figures are for the part before/;
    for (const command of ["estimate", "memory"]) {
      const kept = await remat(command, corrupt);
      expect(kept.code, command).toBe(0);
      expect(kept.stdout, command).toMatch(note);
    }
    const report = await remat("report", corrupt, "-o", join(folder, "corrupt.html"));
    expect(report.code).toBe(0);
    expect(report.stderr).toMatch(note);
    const refused = await remat("plan", corrupt, "--budget", "80%");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^remat: .*corrupt\.remat\.jsonl line \d+, field 't': .*\n$/);
  });

  it("names the file of a PyTorch exporter's that it refuses", async () => {
    const file = JSON.parse(gunzipSync(readFileSync(mlp)).toString()) as { events: object[] };
    const wrong = join(folder, "wrong.json");
    writeFileSync(wrong, JSON.stringify({ ...file, events: [{}, ...file.events] }));
    const { code, stderr } = await remat("estimate", wrong);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^remat: .*wrong\.json: event 0 \(undefined\) of sac_03_mlp: .*\n$/);
  });

  it("shows every op of one module with --module", async () => {
    const { stdout } = await remat("estimate", mlp, "--module", "MLP.blocks.1");
    expect(stdout).toContain("Module: MLP.blocks.1");
    expect(stdout).toContain("native_dropout");
    expect(stdout).not.toContain("MLP.blocks.2");
  });
});

describe("a wrong command line", () => {
  const policy = join(folder, "policy.json");
  writeFileSync(policy, '{\n  "format": "remat-pytorch-policy/4",\n  "modules": {}\n}\n');

  it.each([
    [["estimat"], 2, "unknown command 'estimat'; did you mean estimate? See remat --help."],
    [["estimate"], 2, "missing required argument 'model'. See remat estimate --help."],
    [["estimate", mlp, "--depth", "0"], 2, "--depth expects a whole number of at least 1"],
    [["estimate", mlp, "--format", "xml"], 2, "--format expects one of table, plain, json, csv, md"],
    [["estimate", mlp, "--mode", "guess"], 2, "operator-level-benchmark"],
    [["estimate", mlp, "--batch", "4"], 2, "--batch cannot change sac_03_mlp, which is a recorded run"],
    [["estimate", mlp, "--backend", "cpu"], 2, "--backend cannot change sac_03_mlp, which is a recorded run"],
    [["memory", mlp, "--seed", "9"], 2, "--seed cannot change sac_03_mlp, which is a recorded run"],
    [["estimate", mlp, "--colour"], 2, "unknown option '--colour'; did you mean --color?"],
    [["estimate", mlp, "--device", "abacus"], 2, 'unknown device "abacus". Choose one of a100'],
    [["estimate", "nowhere.json"], 1, "nowhere.json: no such file"],
    [["estimate", policy], 1, `${policy}: a checkpointing policy, not a model or run`],
    [
      ["estimate", "/proc/self/mem"],
      1,
      "/proc/self/mem: cannot be read (it is generated by the kernel on each read, not a regular file",
    ],
    [["estimate", mlp, "--module", "MLP.block"], 1, "unknown module MLP.block. Name one of"],
  ])("%j ends with one line and a next step", async (args, code, message) => {
    const run = await remat(...args);
    expect(run.stderr).toContain(message);
    expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(run).toMatchObject({ code, stdout: "" });
  });

  it("prints help that tells what MODEL can be", async () => {
    const { code, stdout } = await remat("estimate", "--help");
    expect(code).toBe(0);
    expect(stdout).toContain("Inputs:");
    expect(stdout).toContain("--device <name>");
  });
});
