import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { outputFormats } from "@remat/reporting/formats";
import { degenerateSample, sampledCases } from "@remat/testkit";
import { writeTrace } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { viewNames } from "../../terminal/src/index.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-degenerate-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Values that stand where a number or a name is missing. */
const missing = /\bNaN\b|\bundefined\b|\[object |(?<![a-z])-?Infinity\b|∞/;
/** Part of every message about an unexpected error. */
const unexpected = "REMAT_DEBUG";

const search = ["--iterations", "20", "--workers", "1"];
const baseline = join(folder, "baseline.json");
const html = join(folder, "report.html");

/** Arguments of commands that print a document, without the trace. */
const documents: readonly (readonly string[])[] = [
  ["estimate"],
  ["estimate", "--ops", "--fit"],
  ["estimate", "--as-pytorch"],
  ["memory", "--snapshots", "--depth", "9"],
  ["memory", "--regions"],
  ["memory", "--at", "op:0"],
  ["memory", "--reserved", "default"],
  ["plan", "--budget", "50%", ...search],
  ["plan", "--budget", "0B", ...search],
  ["plan", "--pareto", "3", ...search],
  ["plan", "--max-overhead", "10%", ...search],
  ["plan", "--budget", "50%", "--executor", "torch-checkpoint", ...search],
  ["plan", "--budget", "50%", "--link", "12GB/s", ...search],
  ...["dp", "knapsack", "milp", "greedy"].map((method) => ["plan", "--method", method, "--module-budget", "50%"]),
  ["plan", "--method", "modules", "--budget", "50%"],
  ["compare"],
  ["leaks"],
  ["fit", "--iterations", "20", "--workers", "1"],
];

describe.each(sampledCases(degenerateSample(), 3))("a step of which the trace is: $name", ({ name, trace }) => {
  const path = join(folder, `${name.replaceAll(/\W+/g, "-")}.remat.jsonl`);
  beforeAll(() => writeFileSync(path, Buffer.concat([...writeTrace(trace)])));

  async function expectSound(...args: string[]): Promise<void> {
    const { stdout, stderr } = await remat(...args);
    expect({ args, stderr: stderr.includes(unexpected) ? stderr : "", missing: missing.exec(stdout)?.input }).toEqual({
      args,
      stderr: "",
      missing: undefined,
    });
    expect(stderr).not.toMatch(missing);
  }

  it("prints documents in every format, or one sentence that says why there is none", async () => {
    for (const [command, ...options] of documents)
      for (const { name: format } of outputFormats) await expectSound(command, path, ...options, "--format", format);
  });

  it("is checked against itself", async () => {
    for (const { name: format } of outputFormats) {
      await expectSound("check", path, "--baseline", baseline, "--update", "--format", format);
      await expectSound("check", path, "--baseline", baseline, "--format", format);
    }
  });

  it("has every view of the terminal app", async () => {
    for (const view of viewNames) await expectSound("ui", path, "--once", "--view", view);
  });

  it("has a report, beside itself too", async () => {
    for (const more of [[], ["--compare", path]]) {
      const { stderr } = await remat("report", path, "--iterations", "20", "-o", html, ...more);
      expect(stderr).not.toContain(unexpected);
      await expectSound("report", "--extract", html);
    }
  });
});
