import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { goldenFiles } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { remat } from "./run.js";

const golden = (name: string): string => goldenFiles().find((file) => file.name === name)?.path ?? "";
const transformer = golden("mem_tf_b2_adam");

describe("remat memory of a run under FSDP", () => {
  it("shows each unit around FSDP's hooks, and no column of zeros", async () => {
    const { path } = goldenFiles().find(({ name }) => name === "fsdp_mlp4_ws4_reshard1")!;
    const { code, stdout } = await remat("memory", path, "--snapshots", "--depth", "3", "--format", "plain");
    expect(code).toBe(0);
    for (const moment of ["Pre-Forward", "Post-Forward", "Pre-Backward", "Post-Backward"])
      for (const side of ["Before", "After"]) expect(stdout).toContain(`${side} ${moment}`);
    const [, table] = stdout.split("\nModules");
    expect(table.split("\nSnapshots")[0]).not.toMatch(/ 0\.0 (?:[KMG]i)?B/);
  });
});

describe("remat memory TRACE", () => {
  it("names the op and module of the peak, the categories, the largest storages and who made them", async () => {
    const { code, stdout, stderr } = await remat("memory", transformer, "--top", "3", "--units", "KiB");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.replaceAll(transformer, "run.json.gz")).toMatchSnapshot();
  });

  it("lists every storage as csv, and no more than asked for", async () => {
    const { moment } = JSON.parse((await remat("memory", transformer, "--format", "json")).stdout);
    const rows = async (...args: string[]) =>
      (await remat("memory", transformer, "--format", "csv", ...args)).stdout.trimEnd().split("\r\n").slice(1);
    const all = await rows();
    expect(all).toHaveLength(moment.storageCount);
    expect(all.reduce((sum, row) => sum + Number(row.split(",")[1]), 0)).toBe(moment.totalBytes);
    expect(await rows("--top", "3")).toEqual(all.slice(0, 3));
  });

  it("says why checkpointed regions do not release more", async () => {
    const fixture = new URL("../../../packages/memory/test/fixtures/checkpointed-regions.json.gz", import.meta.url);
    const { cases } = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as {
      cases: { name: string; file: unknown }[];
    };
    const path = join(mkdtempSync(join(tmpdir(), "remat-regions-")), "run.json");
    writeFileSync(path, JSON.stringify(cases.find(({ name }) => name === "saved_outside")?.file));
    const { code, stdout } = await remat("memory", path, "--regions");
    expect(code).toBe(0);
    expect(stdout).toContain("4 KiB of it unnecessarily");
    expect(stdout).toMatch(/2 KiB +Model\.blocks\.0 +aten\.tanh\.default .*saved outside by aten\.pow\.Tensor_Scalar/);
    const rows = (await remat("memory", path, "--regions", "--format", "csv")).stdout.trimEnd().split("\r\n");
    expect(rows).toHaveLength(1 + 4);
    const plain = await remat("memory", transformer, "--regions");
    expect(plain.stdout).toContain("no checkpointed region in this run");
  });

  it("predicts a rank of many", async () => {
    const run = await remat("memory", transformer, "--fsdp", "world=4,wrap='layers.*',reshard", "--format", "json");
    const { sharding, peakBytes } = JSON.parse(run.stdout);
    const single = JSON.parse((await remat("memory", transformer, "--format", "json")).stdout);
    expect(sharding).toMatchObject({ worldSize: 4, wrap: ["layers.*"] });
    expect(peakBytes).toBeLessThan(single.peakBytes);
  });

  it("says over how many ranks it fits, where that many are too few", async () => {
    const ask = async (...args: string[]) =>
      JSON.parse((await remat("memory", transformer, ...args, "--format", "json")).stdout);
    const peakOn = async (ranks: number) => (await ask("--fsdp", `world=${ranks},wrap='layers.*',reshard`)).peakBytes;
    const [on2, on4] = [await peakOn(2), await peakOn(4)];
    expect(on4).toBeLessThan(on2);
    const device = join(mkdtempSync(join(tmpdir(), "remat-ranks-")), "mine.json");
    const withMemory = (memoryBytes: number) =>
      writeFileSync(device, JSON.stringify({ name: "mine", tflops: { float32: 1 }, memoryGBps: 1, memoryBytes }));
    withMemory(on2 - 1);
    const { verdict } = await ask("--fsdp", "world=2,wrap='layers.*',reshard,rank=1", "--device", device);
    expect(verdict.fits).toBe(false);
    expect(verdict.ways).toMatchObject([{ kind: "sharding", worldSize: 4, peakBytes: on4 }]);
    expect(verdict.command).toBe(
      `remat memory ${transformer} --device ${device} --fsdp "world=4,wrap='layers.*',reshard"`,
    );
    const four = await ask("--fsdp", "world=4,wrap='layers.*',reshard", "--device", device);
    expect(four.verdict).toMatchObject({ fits: true, peakBytes: on4 });
    expect(four.verdict.command).toBeUndefined();
    withMemory(1000);
    const none = await ask("--fsdp", "world=2,wrap='layers.*'", "--device", device);
    expect(none.verdict.ways).toEqual([]);
    expect(none.verdict.sentence).toContain("Nothing remat tried makes it fit");
  });

  it("says that a rank fits with its blocks checkpointed, before that it takes more of them", async () => {
    const llama = fileURLToPath(new URL("../../../examples/llama-pytorch/run-1b.json.gz", import.meta.url));
    const ask = async (plan: string) =>
      JSON.parse((await remat("memory", llama, "--fsdp", plan, "--device", "v100-16gb", "--format", "json")).stdout);
    const checkpointed = await ask("world=2,checkpoint=layers.*");
    const { verdict } = await ask("world=2");
    expect(verdict.ways).toMatchObject([
      { kind: "sharding", worldSize: 2, checkpoint: ["layers.*"], peakBytes: checkpointed.peakBytes },
      { kind: "sharding", worldSize: 8 },
    ]);
    expect(verdict.command).toBe(`remat plan ${llama} --device v100-16gb --fsdp world=2 --budget 16GiB`);
    expect(checkpointed.verdict.fits).toBe(true);
  });

  it.each([
    [["--units", "MB"], 2, "KiB, MiB, GiB"],
    [["--fsdp", "world=0"], 2, "the world size is 0"],
    [["--fsdp", "world=4,wrap=nothing.*"], 1, "nothing.*"],
    [["--at", "noon"], 2, "--at expects peak, op:N"],
    [["--at", "op:99999999"], 1, "has no op 99999999"],
  ])("refuses %j with one line", async (args, code, message) => {
    const run = await remat("memory", transformer, ...args);
    expect(run.stderr).toContain(message);
    expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(run.code).toBe(code);
  });

  it("refuses a trace that tells no lifetimes", async () => {
    const run = await remat("memory", golden("sac_03_mlp"));
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain("the trace has no lifetimes");
  });
});
