import { describe, expect, it } from "vitest";
import { countGoldens, countLines, countOne, countTasks, countTests, reconcile } from "../src/count-checks.js";
import { runStage } from "../src/run-stage.js";

describe("counting", () => {
  it("takes turbo's tasks from its summary", () => {
    const output = "noise\n\n Tasks:    12 successful, 15 total\nCached:    0 cached, 15 total\n";
    const notRun = "a task that was not run";
    expect(countTasks({ output })).toEqual({ passed: 12, failures: [notRun, notRun, notRun] });
    expect(countTasks({ output: `${output}Failed:    @remat/a#build, @remat/b#build\n` })).toEqual({
      passed: 12,
      failures: ["@remat/a#build", "@remat/b#build", notRun],
    });
    expect(countTasks({ output: "turbo is not there" })).toEqual({ passed: 0, failures: [] });
  });

  it("takes vitest's tests from its report, and files that do not load", () => {
    const passed = { status: "passed", fullName: "adds" };
    const failed = {
      status: "failed",
      fullName: "subtracts",
      failureMessages: ["expected 1 to be 2\n    at a.test.ts:3"],
    };
    const report = JSON.stringify({
      numPassedTests: 5,
      testResults: [
        { name: "a.test.ts", status: "passed", assertionResults: [passed] },
        { name: "b.test.ts", status: "failed", assertionResults: [passed, failed] },
        { name: "c.test.ts", status: "failed", message: "no such module", assertionResults: [] },
      ],
    });
    expect(countTests(report)).toEqual({
      passed: 5,
      failures: ["b.test.ts > subtracts\nexpected 1 to be 2\n    at a.test.ts:3", "c.test.ts\nno such module"],
    });
  });

  it("takes lines by how they begin", () => {
    const count = countLines(/^ok\s/, /^not ok\s/);
    expect(
      count({ output: "ok      a\nnot ok  b\n  ok      c\nokay\nok      d\nnot ok  e\nnot ok  f\n  why\n" }),
    ).toEqual({
      passed: 2,
      failures: ["not ok  b\n  ok      c", "not ok  e", "not ok  f\n  why"],
    });
  });

  it("takes a golden that agrees and one that ours is better than for passes", () => {
    const output =
      "goldens of a\nagrees   a\nbetter   b  3 of 4 fits\nDIFFERS  c  memory 1, ours 2\n1 agree, 1 better, 1 differ\n";
    expect(countGoldens({ output })).toEqual({ passed: 2, failures: ["DIFFERS  c  memory 1, ours 2"] });
  });

  it("believes a failing exit code, and no stage that checked nothing", () => {
    const output = "one\ntwo\n";
    const three = { passed: 3, failures: [] };
    expect(reconcile(three, { exitCode: 0, output })).toEqual(three);
    expect(reconcile(three, { exitCode: 1, output })).toEqual({ passed: 3, failures: ["exit code 1\none\ntwo"] });
    expect(reconcile({ passed: 0, failures: [] }, { exitCode: 0, output })).toEqual({
      passed: 0,
      failures: ["nothing was checked\none\ntwo"],
    });
    expect(reconcile({ passed: 3, failures: ["a"] }, { exitCode: 1, output })).toEqual({ passed: 3, failures: ["a"] });
  });
});

describe("a stage", () => {
  const run = async (code: string, count = countOne as Parameters<typeof runStage>[0]["count"]) => {
    const lines: string[] = [];
    const stage = { name: "stage", command: [process.execPath, "-e", code], count };
    const result = await runStage(stage, { cwd: ".", timeoutMs: 20_000, print: (line) => lines.push(line) });
    return { result, lines };
  };

  it("prints with its name before each line, without colours, to the last line, and without a sum of its own", async () => {
    const { result, lines } = await run(
      'console.log("\\u001b[32m5 passed, 0 failed\\u001b[0m"); process.stdout.write("end")',
    );
    expect(result).toEqual({ passed: 1, failures: [] });
    expect(lines.slice(1, -1)).toEqual(["   stage │ 5 passed, 0 failed", "   stage │ end"]);
    expect(lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line))).toEqual([]);
  });

  it("fails when its command does, is not there, or cannot be counted, and says how it ended", async () => {
    expect((await run('console.log("why"); process.exit(3)')).result).toEqual({
      passed: 0,
      failures: ["exit code 3\nwhy"],
    });
    expect((await run("", () => JSON.parse("{"))).result).toEqual({ passed: 0, failures: ["nothing was checked\n"] });
    const stage = { name: "stage", command: ["no-such-command"], count: countOne };
    expect(await runStage(stage, { cwd: ".", timeoutMs: 20_000, print: () => {} })).toEqual({
      passed: 0,
      failures: ["exit code 127\n"],
    });
  });

  it("gives a command that runs alone nothing of the environment but PATH, and what is set for it", async () => {
    const printed: string[] = [];
    const script = "console.log('ok      ' + Object.keys(process.env).sort().join())";
    const count = await runStage(
      {
        name: "alone",
        command: [process.execPath, "-e", script],
        isAlone: true,
        env: () => ({ HOME: "/nowhere" }),
        count: countLines(/^ok\s/, /^not ok\s/),
      },
      { cwd: process.cwd(), timeoutMs: 60_000, print: (line) => printed.push(line) },
    );
    expect(count).toEqual({ passed: 1, failures: [] });
    expect(printed).toContainEqual(expect.stringMatching(/ok {6}HOME,PATH$/));
  });
});
