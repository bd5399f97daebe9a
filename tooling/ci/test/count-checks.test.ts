import { describe, expect, it } from "vitest";
import { countLines, countOne, countTasks, countTests, reconcile } from "../src/count-checks.js";
import { runStage } from "../src/run-stage.js";

describe("counting", () => {
  it("takes turbo's tasks from its summary", () => {
    expect(
      countTasks({ output: "noise\n\n Tasks:    12 successful, 15 total\nCached:    0 cached, 15 total\n" }),
    ).toEqual({
      passed: 12,
      failed: 3,
    });
    expect(countTasks({ output: "turbo is not there" })).toEqual({ passed: 0, failed: 0 });
  });

  it("takes vitest's tests from its report, and files that do not load", () => {
    const file = (status: string, ...tests: string[]) => ({
      status,
      assertionResults: tests.map((test) => ({ status: test })),
    });
    const report = JSON.stringify({
      numPassedTests: 5,
      numFailedTests: 1,
      testResults: [file("passed", "passed"), file("failed", "passed", "failed"), file("failed")],
    });
    expect(countTests(report)).toEqual({ passed: 5, failed: 2 });
  });

  it("takes lines by how they begin", () => {
    const count = countLines(/^ok\s/, /^not ok\s/);
    expect(count({ output: "ok      a\nnot ok  b\n  ok      c\nokay\nok      d\n" })).toEqual({ passed: 2, failed: 1 });
  });

  it("believes a failing exit code, and no stage that checked nothing", () => {
    expect(reconcile({ passed: 3, failed: 0 }, 0)).toEqual({ passed: 3, failed: 0 });
    expect(reconcile({ passed: 3, failed: 0 }, 1)).toEqual({ passed: 3, failed: 1 });
    expect(reconcile({ passed: 0, failed: 0 }, 0)).toEqual({ passed: 0, failed: 1 });
    expect(reconcile({ passed: 3, failed: 2 }, 1)).toEqual({ passed: 3, failed: 2 });
  });
});

describe("a stage", () => {
  const run = async (code: string, count = countOne as Parameters<typeof runStage>[0]["count"]) => {
    const lines: string[] = [];
    const stage = { name: "stage", command: [process.execPath, "-e", code], count };
    const result = await runStage(stage, { cwd: ".", timeoutMs: 20_000, print: (line) => lines.push(line) });
    return { result, lines };
  };

  it("prints with a margin, without colours, to the last line, and without a sum of its own", async () => {
    const { result, lines } = await run(
      'console.log("\\u001b[32m5 passed, 0 failed\\u001b[0m"); process.stdout.write("end")',
    );
    expect(result).toEqual({ passed: 1, failed: 0 });
    expect(lines.slice(1, -1)).toEqual(["   │ 5 passed, 0 failed", "   │ end"]);
    expect(lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line))).toEqual([]);
  });

  it("fails when its command does, is not there, or cannot be counted", async () => {
    expect((await run("process.exit(3)")).result).toEqual({ passed: 0, failed: 1 });
    expect((await run("", () => JSON.parse("{"))).result).toEqual({ passed: 0, failed: 1 });
    const stage = { name: "stage", command: ["no-such-command"], count: countOne };
    expect(await runStage(stage, { cwd: ".", timeoutMs: 20_000, print: () => {} })).toEqual({ passed: 0, failed: 1 });
  });
});
