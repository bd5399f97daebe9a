import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOptions } from "../src/command.js";
import { numberedPath, planFileOf } from "../src/numbered-path.js";
import { recordOptionsOf, recordProgramOptions } from "../src/program/record-options.js";
import { remat } from "./run.js";

describe("remat record and remat exec", () => {
  it.each([
    [["record"], 2, /^remat: no program to run. Write it after --, .*: remat record -- node train.js/],
    [["watch"], 2, /no program to run.*: remat watch -- node train.js/],
    [["exec", "--budget", "1GB"], 2, /remat exec -- node train.js/],
    [
      ["exec", "--", "node", "train.js"],
      2,
      /no limit was given\. Pass --budget, --plan or both, or --early-release alone/,
    ],
    [
      ["exec", "--early-release", "--budget", "1GB", "--", "node", "train.js"],
      2,
      /--early-release cannot be combined with --budget or --plan/,
    ],
    [
      ["exec", "--budget", "1GB", "--update-in-backward", "--", "node", "train.js"],
      2,
      /works only with --early-release/,
    ],
    [["exec", "--budget", "much", "--", "node", "train.js"], 2, /--budget: expected a budget as a share/],
    [
      ["exec", "--plan", "no-plan.json", "--", "node", "train.js"],
      2,
      /no-plan.json: .*Name a file written by remat plan/,
    ],
    [
      ["exec", "--plan", "no-plan.json", "--plan", "none-either.json", "--", "node", "train.js"],
      2,
      /no-plan.json: .*Name a file written by remat plan/,
    ],
    [["record", "--steps", "0", "--", "node", "train.js"], 2, /--steps expects a whole number of at least 1/],
    [["record", "--", "remat-has-no-such-program"], 1, /cannot be started \(no such program\)/],
  ])("%j is one line with the next step", async (args, code, message) => {
    const run = await remat(...args);
    expect(run.code).toBe(code);
    expect(run.stderr).toMatch(message);
    expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  it("refuse a file that cannot be written before the program runs, not when it has trained for hours", async () => {
    const folder = mkdtempSync(join(tmpdir(), "remat-program-"));
    const ran = join(folder, "ran");
    const program = ["node", "-e", `require("fs").writeFileSync(${JSON.stringify(ran)}, "")`];
    for (const [path, error] of [
      [join(folder, "none", "run.remat.jsonl"), "ENOENT"],
      [folder, "EISDIR"],
    ]) {
      const { code, stdout, stderr } = await remat("record", "-o", path, "--", ...program);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(
        new RegExp(`^remat: .*: cannot be written \\(${error}.*Choose another file with --output\\.\n$`),
      );
    }
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  it("name what they write after the script, and number it where there are several", () => {
    const named = (...program: string[]) => recordOptionsOf(readOptions(recordProgramOptions, {}), program).output;
    expect(named("node", "--expose-gc", "src/train.mjs", "--epochs", "3")).toBe("train.remat.jsonl");
    expect(named("npx", "tsx", "train.ts")).toBe("train.remat.jsonl");
    expect(named("./learn")).toBe("learn.remat.jsonl");
    expect(numberedPath("run.remat.jsonl.gz", 0, 1)).toBe("run.remat.jsonl.gz");
    expect(numberedPath("out/run.remat.jsonl.gz", 1, 2)).toBe("out/run.2.remat.jsonl.gz");
    expect(numberedPath("run.jsonl", 0, 2)).toBe("run.1.jsonl");
    expect(numberedPath("run", 0, 2)).toBe("run.1");
    for (const [path, plan] of [
      ["run", "plan.json"],
      ["fit.remat.jsonl.gz", "plan.json"],
      ["resnet-50.model.json", "plan.json"],
      ["-", "plan.json"],
    ])
      expect(planFileOf(path)).toBe(plan);
    for (const output of ["out/run.remat.jsonl.gz", "run.jsonl", "run"])
      expect(planFileOf(numberedPath(output, 1, 2))).toBe("plan.2.json");
  });
});
