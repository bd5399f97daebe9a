import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { sampledCases } from "@remat/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { twoLayers } from "./fixtures/two-layers.js";
import { type CliRun, remat } from "./run.js";

const before = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "remat-cut-"));
const cut = "cut.remat.jsonl";
const whole = "whole.remat.jsonl";
let text = "";
let lines: readonly string[] = [];

beforeAll(async () => {
  process.chdir(folder);
  writeFileSync("model.json", JSON.stringify(twoLayers("softmax")));
  await remat("memory", "model.json", "--trace", whole);
  text = readFileSync(whole, "utf8");
  lines = text.trimEnd().split("\n");
  writeFileSync(
    "oom.log",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 1.00 MiB is free.\n",
  );
  await remat("check", whole, "--baseline", "base.json", "--update");
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

/** They show the part that there is. */
const shows: readonly (readonly string[])[] = [
  ["memory", cut],
  ["memory", cut, "--format", "csv"],
  ["memory", cut, "--format", "json"],
  ["memory", cut, "--regions"],
  ["memory", cut, "--at", "op:3"],
  ["memory", cut, "--fsdp", "world=8"],
  ["memory", cut, "--snapshots"],
  ["estimate", cut],
  ["estimate", cut, "--ops", "--fit"],
  ["leaks", cut],
  ["explain", "oom.log", cut],
  ["report", cut, "--time", "0", "-o", "page.html"],
  ["report", whole, "--compare", cut, "--time", "0", "-o", "page.html"],
  ["ui", cut, "--once"],
  ["ui", cut, whole, "--once"],
  ["ui", whole, cut, "--once", "--view", "ops"],
];
/** They would judge a part as if it were the step. */
const judges: readonly (readonly string[])[] = [
  ["plan", cut, "--budget", "80%", "--iterations", "1"],
  ["plan", cut, "--budget", "80%", "--method", "modules"],
  ["compare", cut, "--fsdp", "world=8"],
  ["extrapolate", cut, whole, whole, "--sizes", "1,2,3"],
  ["check", cut, "--baseline", "base.json"],
  ["check", cut, "--baseline", "new.json", "--update"],
  ["fit", cut, "--devices", "a100", "--iterations", "1"],
];

const firstLine = ({ stderr }: CliRun): string => stderr.split("\n", 1)[0];
const told =
  /^remat: .*cut\.remat\.jsonl: .*(cut short|the file is empty|not a whole header).* recording was (probably )?stopped,? or the disk was full.* record it again/i;

describe.each(shows)("a trace that is cut short, by remat %s %s %s %s %s", (...command) => {
  it("is named with the cause and the next step, wherever it is cut", async () => {
    for (const count of [...lines.keys()].filter((at) => at < 8 || at % 23 === 0)) {
      writeFileSync(
        cut,
        lines
          .slice(0, count)
          .map((line) => `${line}\n`)
          .join(""),
      );
      const run = await remat(...command);
      expect(firstLine(run), `after line ${count}`).toMatch(told);
      if (count === 0) expect(run.code).toBe(1);
    }
  });
});

describe.each(judges)("a trace that is cut short, by remat %s %s %s %s %s", (...command) => {
  it("is rejected with the cause and the next step, wherever it is cut", async () => {
    for (const count of sampledCases([...lines.keys()], 3)) {
      writeFileSync(
        cut,
        lines
          .slice(0, count)
          .map((line) => `${line}\n`)
          .join(""),
      );
      const run = await remat(...command);
      expect(run.code, `after line ${count}`).toBe(1);
      expect(run.stdout).toBe("");
      expect(run.stderr).toMatch(told);
      expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
    }
  });
});

it("is told from one that is whole when it is cut within a line, or compressed", async () => {
  const bytes = gzipSync(text);
  for (const share of [0, 0.001, 0.3, 0.9]) {
    writeFileSync(cut, text.slice(0, Math.floor(text.length * share)));
    expect(firstLine(await remat("memory", cut))).toMatch(told);
    writeFileSync(cut, bytes.subarray(0, Math.floor(bytes.length * share)));
    expect(firstLine(await remat("memory", cut))).toMatch(told);
  }
  writeFileSync(cut, text);
  expect((await remat("memory", cut)).stderr).toBe("");
});
