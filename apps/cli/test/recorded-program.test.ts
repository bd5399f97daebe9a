import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPlan, writeTrace } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runUnder } from "../../../packages/program/test/run-program-under.js";
import { describeExecution } from "../src/program/describe-execution.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-recorded-program-"));
const file = join(folder, "fit.remat.jsonl");
const plan = join(folder, "plan.json");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The step that stands for the program, with its layers' names, which it has told nobody. */
beforeAll(async () => {
  const { traces } = await runUnder({ kind: "record", steps: 6, seconds: 60 }, ["node", "fit.mjs"]);
  writeFileSync(file, Buffer.concat([...writeTrace(traces[0])]));
});

describe("of a recorded program", () => {
  it.each<[command: string, options: readonly string[], name: string]>([
    ["memory", [], "sequential_1.dense_Dense1"],
    ["estimate", [], "sequential_1"],
    ["plan", ["--budget", "100%", "--time", "1s", "-o", plan], "sequential_1"],
    ["ui", ["--once", "--view", "memory"], "sequential_1"],
    ["ui", ["--once", "--view", "modules"], "dense_Dense1"],
  ])("remat %s tells the model and its layers", async (command, options, name) => {
    const { code, stdout, stderr } = await remat(command, file, ...options);
    expect(`${code} ${stderr}`).toMatch(/^0 /);
    expect(stdout).toContain(name);
  });

  it("the report shows them, too", async () => {
    const page = join(folder, "fit.html");
    expect(await remat("report", file, "-o", page)).toMatchObject({ code: 0 });
    expect(readFileSync(page, "utf8")).toContain("sequential_1");
  });

  it("a plan is followed by exec, which tells in how many passes", async () => {
    expect(readPlan(readFileSync(plan, "utf8")).subject.name).toBe("sequential_1");
    const { reports } = await runUnder({ kind: "exec", plan }, ["node", "fit.mjs"]);
    // Six of the nine have a batch of four.
    expect(describeExecution(reports[0])).toMatch(/ · 9 passes, 6 of them as planned · /);
  });
});
