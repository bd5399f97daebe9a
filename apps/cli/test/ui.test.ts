import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { modelSource } from "../src/model-source.js";
import { startEntries } from "../src/terminal/start-entries.js";
import { remat } from "./run.js";

const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-ui-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const transformer = `${examples}transformer/model.js`;
const trace = join(folder, "transformer.remat.jsonl");

describe("remat ui --once", () => {
  it("prints every view of a model as text without escape sequences", async () => {
    for (const view of ["held", "modules", "ops", "trade-off", "memory", "compare", "devices"]) {
      const { code, stdout, stderr } = await remat(
        "ui",
        transformer,
        "--size",
        "tiny",
        "--once",
        "--view",
        view,
        "--columns",
        "90",
      );
      expect([code, stderr], view).toEqual([0, ""]);
      expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
      // The next command is not broken.
      const lines = stdout.split("\n").filter((line) => !line.startsWith("remat run "));
      expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(90);
      expect(stdout.replaceAll(transformer, "model.js")).toMatchSnapshot(view);
    }
  });

  it("takes a device as every command does: by any of its names, or from a file", async () => {
    const mine = join(folder, "mine.json");
    const figures = {
      name: "mine",
      tflops: { float32: 1.5 },
      memoryGBps: 77,
      memoryBytes: 2 ** 30,
      allocationUnitBytes: 1,
    };
    writeFileSync(mine, JSON.stringify(figures));
    const once = (device: string) =>
      remat("ui", transformer, "--size", "tiny", "--once", "--view", "devices", "--device", device);
    expect(await once(mine)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/mine.*77 GB\/s/) });
    expect((await once("NVIDIA A100")).stdout).toMatch(/a100.*2039 GB\/s/);
    expect(await once("abacus")).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown device "abacus"') });
  });

  it("prints a view of a trace by number, in ASCII, about one module, as long as it may be", async () => {
    await remat("estimate", transformer, "--size", "tiny", "--trace", trace, "--format", "csv");
    const { code, stdout } = await remat(
      "ui",
      trace,
      "--once",
      "--view",
      "3",
      "--module",
      "Transformer.layers.0.attention",
      "--rows",
      "12",
      "--ascii",
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^Fits: peak memory is 6\.391 MiB of 80 GiB \(A100/);
    expect(lines[lines.indexOf("") + 1]).toMatch(/^Transformer\.layers\.0\.attention {2}\d+ ops/);
    expect(stdout.split("\n")).toHaveLength(13);
    expect(stdout).toMatch(/\(\d+ more rows\)\n$/);
  });

  it("compares two", async () => {
    const { code, stdout } = await remat("ui", trace, `${examples}foo/model.js`, "--once");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Fits: .*\n(?:.+\n)*\ntransformer vs\. model/);
  });

  it("reads a damaged trace as far as it can be read, and says so", async () => {
    const lines = readFileSync(trace, "utf8").split("\n");
    const damaged = join(folder, "damaged.remat.jsonl");
    writeFileSync(damaged, [...lines.slice(0, 400), '{"t":"op"', ...lines.slice(401)].join("\n"));
    const { code, stdout, stderr } = await remat("ui", damaged, "--once");
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^remat: .*damaged\.remat\.jsonl: the trace is damaged after line 400 \(.+\): all figures are for the part before\. Record it again\.\n$/,
    );
    expect(stdout).toMatch(/^damaged {2}[\d.]+ \w+ at the peak in /m);
    expect(stdout).toMatch(/^Damaged after line 400, peak memory is at least [\d.]+ \w+ of /);
    expect(stdout).not.toMatch(/^Fits/m);

    const compared = await remat("ui", trace, damaged, "--once");
    expect(compared.stderr).toMatch(/^remat: .*damaged\.remat\.jsonl: the trace is damaged after line 400 /);
    expect(compared.stdout).toMatch(/transformer vs\. damaged.*\ndamaged: the trace is damaged after line 400 /);
  });
});

describe("remat ui", () => {
  it("says that it needs a terminal, and offers --once", async () => {
    const { code, stdout, stderr } = await remat("ui", transformer);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/needs a terminal.*remat ui model\.json --once/);
  });

  it.each([
    [["ui", "--once"], 2, /--once needs a model or trace/],
    [["ui", transformer, "--once", "--view", "10"], 2, /--view expects one of held, modules, ops/],
    [["ui", transformer, "--once", "--device", "abacus"], 2, /unknown device "abacus"/],
    [["ui", transformer, "--once", "--columns", "10"], 2, /--columns expects a whole number of at least 40/],
    [["ui", "nothing.json", "--once"], 1, /no such file/],
    [["ui", transformer, "--size", "tiny", "--once", "--module", "nothing"], 1, /unknown module nothing/],
  ])("refuses %j", async (args, expected, message) => {
    const { code, stderr } = await remat(...args);
    expect(code).toBe(expected);
    expect(stderr).toMatch(message);
  });

  it("tells a plan from a model, which --once does not print", async () => {
    const plan = join(folder, "step.plan.json");
    await remat("plan", trace, "--budget", "0.9", "--iterations", "100", "-o", plan);
    expect(modelSource(plan).gives).toBe("plan");
    expect(modelSource(trace).gives).toBe("run");
    const { code, stderr } = await remat("ui", plan, "--once");
    expect(code).toBe(2);
    expect(stderr).toMatch(/is a plan/);
  });

  it("offers what is in the folder, and examples that can be traced", async () => {
    writeFileSync(join(folder, "model.json"), "{}");
    const entries = startEntries(folder);
    expect(entries.map(({ title }) => title)).toEqual(
      expect.arrayContaining(["model.json", "transformer.remat.jsonl", "step.plan.json", "Example: perceptron"]),
    );
    expect(startEntries("/not/there").every(({ title }) => title.startsWith("Example: "))).toBe(true);
    for (const { target } of startEntries("/not/there")) {
      const { code, stdout, stderr } = await remat("ui", target.replace(/\.js$/, ".ts"), "--once", "--rows", "12");
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/perceptron|small[-_]cnn/);
    }
  });
});
