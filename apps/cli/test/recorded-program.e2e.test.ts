import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { heldPeak } from "@remat/memory";
import { accountSequence, sequenceGraphOfTrace } from "@remat/memory/sequence";
import { runProgram } from "@remat/program";
import { extractReport } from "@remat/report";
import { parseTrace, readPlan, writeTrace } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentFromSources, programsFolder, runUnder } from "../../../packages/program/test/run-program-under.js";
import { describeFollowing, describeReleasing, describeStep, reportFailure } from "../src/commands/record.js";
import { describeExecution } from "../src/program/describe-execution.js";
import { describeFailure } from "../src/program/describe-failure.js";
import { judgeRecorded } from "../src/program/judge-recorded.js";
import { printFacts } from "../src/program/print-facts.js";
import { describeEarlyEnd, describeNothing } from "../src/program/program-command.js";
import { thisMachine } from "../src/verdict/this-machine.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-recorded-program-"));
const file = join(folder, "fit.remat.jsonl");
const plan = join(folder, "plan.json");
const memoryBytes = 2 ** 34;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The step that represents the program, with the names of its layers, although it does not pass its model to remat. */
beforeAll(async () => {
  const { traces } = await runUnder({ kind: "record", steps: 6, seconds: 60, memoryBytes }, ["node", "fit.mjs"]);
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

  it("the report draws its plan, over the run and alone, and says how the program is run after it", async () => {
    const page = join(folder, "plan.html");
    const reported = async (...words: readonly string[]) => {
      expect(await remat("report", ...words, "--time", "0", "-o", page)).toMatchObject({ code: 0 });
      return extractReport(readFileSync(page, "utf8"));
    };
    const { steps, predicted } = readPlan(readFileSync(plan, "utf8"));
    const command = "remat exec --plan plan.json -- PROGRAM";

    const over = await reported(file, "--compare", plan);
    expect(over.meta.followed.at(-1)).toMatchObject({ name: "plan.json", peakBytes: predicted.peakBytes });
    const drawn = accountSequence(sequenceGraphOfTrace(over.trace), over.followed.at(-1)!.sequence);
    expect(drawn?.peakBytes).toBe(predicted.peakBytes);
    expect(over.meta.answers.find(({ about }) => about === "next")?.command).toBe(command);

    const alone = await reported(plan);
    expect(alone.meta.from).toBe("plan");
    expect(alone.trace.ops.count).toBe(steps.length);
    expect(alone.meta.summary.peak?.totalBytes).toBe(predicted.peakBytes);
    expect(alone.meta.answers.find(({ about }) => about === "next")).toMatchObject({
      command,
      reasons: ["PROGRAM is the command that starts the training of sequential_1."],
    });
  });

  it("a plan is followed by exec, which tells in how many passes", async () => {
    const { subject, predicted } = readPlan(readFileSync(plan, "utf8"));
    expect(subject.name).toBe("sequential_1");
    const { reports } = await runUnder({ kind: "exec", plans: [plan] }, ["node", "fit.mjs"]);
    // Six of the nine have a batch of four.
    const { facts } = describeExecution(reports[0], {
      device: thisMachine(),
      plans: [{ file: plan, peakBytes: predicted.peakBytes }],
    });
    expect(facts).toContain(`9 passes: 6 by ${plan}, 3 with early release.`);
    expect(facts).toContain(`The peak was in passes by ${plan}.`);
  });
});

describe("the report of remat record on a program that runs out of memory", () => {
  it("is why, which every command says of the step that it leaves, too", async () => {
    const path = join(folder, "arrays.failed.remat.jsonl");
    const command = ["node", "dying/arrays.cjs"];
    const order = { kind: "record", steps: 5, seconds: 60, memoryBytes } as const;
    const start = { command, order, cwd: programsFolder, agentFolder: await agentFromSources() };
    let told = "";
    const io = { stdout: { write: () => true }, stderr: { write: (text: string) => (told += text) }, env: {} };
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    await runProgram({ ...start, stdio }, ({ reports }) => reportFailure(reports[0].failure!, path, io));
    const lines = told.split("\n").map((line) => line.replace(/^(?:remat: | {7})/, ""));
    expect(lines).toEqual([
      "Out of memory in Tile at dying/arrays.cjs:10:14, allocating 4 TiB: JavaScript could not allocate an array of that size (RangeError: Invalid typed array length: 1099511627776).",
      `The step up to there is in ${path}.`,
      "74.00 KiB was in use: inputs (92%), parameters (5%), activations (3%).",
      "68 KiB existed before, or was allocated in JavaScript (inputs, 2 storages).",
      "4 KiB existed before, or was allocated in JavaScript (parameters).",
      "1 KiB allocated by BatchMatMul at dying/arrays.cjs:9:17 (activations).",
      "Only 2 steps ran before it, too few to detect a leak.",
      "No order of these ops needs less than 4.000 TiB, but only 74.00 KiB was available.",
      "",
    ]);
    for (const name of ["memory", "estimate", "ui"]) {
      const { code, stdout } = await remat(name, path, ...(name === "ui" ? ["--once", "--view", "memory"] : []));
      expect([name, code, stdout.replaceAll(/\s+/g, " ")]).toEqual([
        name,
        0,
        expect.stringContaining("Out of memory in Tile at"),
      ]);
    }
  });

  it("is what was held between steps where the step was not recorded", () => {
    const failure = {
      cause: "system",
      message: "killed",
      heldBytes: 2 ** 20,
      stepsBefore: 40,
      program: ["node", "a b.js"],
    };
    const told = { ...failure, cause: "system" } as const;
    expect(describeFailure({ ...told, bytesPerStep: 1024 }).facts).toEqual([
      "Out of memory: killed",
      "1 MiB was in use when the last step began.",
      "This is a leak: memory in use between steps grew by 1 KiB per step over 40 steps.",
      "To find the lines that leak:",
      "remat leaks -- node 'a b.js'",
    ]);
    expect(describeFailure({ ...told, bytesPerStep: 0, line: "a.js:1:2", askedBytes: 2048 }).facts).toEqual([
      "Out of memory at a.js:1:2, allocating 2 KiB: killed",
      "1 MiB was in use when the last step began.",
      "Memory in use between steps did not grow over 40 steps.",
      "To record the step that fails:",
      "remat record --steps 41 -- node 'a b.js'",
    ]);
  });

  it("asks for no second recording if it failed among the recorded steps, in none of them", () => {
    const failure = {
      cause: "array",
      message: "Invalid typed array length: 9",
      heldBytes: 0,
      program: ["node"],
    } as const;
    expect(describeFailure({ ...failure, line: "a.js:7:15" }, 5)).toEqual({
      facts: [
        "Out of memory at a.js:7:15: Invalid typed array length: 9",
        "No training step had run.",
        "Create the data in smaller parts, for example one batch at a time.",
      ],
    });
    expect(describeFailure({ ...failure, stepsBefore: 3 }, 5).facts[1]).toBe(
      "No training step was running, after 3 steps.",
    );
    expect(describeFailure({ ...failure, stepsBefore: 5 }, 5).command).toBe("remat record --steps 6 -- node");
  });
});

describe("the report of remat record on a step", () => {
  it("is a verdict for where it was recorded, whose command works", async () => {
    const verdict = (await judgeRecorded(file, file))!;
    const { peakBytes } = heldPeak(parseTrace(readFileSync(file), { name: "fit" }));
    expect(verdict).toMatchObject({
      peakBytes,
      fits: true,
      device: "where it was recorded",
      deviceMemoryBytes: memoryBytes,
    });
    expect(verdict.command).toMatch(/^remat plan \S+ --max-overhead [05]%/);
    expect(verdict.facts.at(-1)).toBe(verdict.command);
    const [, ...words] = verdict.command!.replace("plan.json", join(folder, "next.json")).split(" ");
    expect((await remat(...words, "--iterations", "20")).code).toBe(0);
    expect((await judgeRecorded(file, "-"))!.command).toBeUndefined();
    expect((await judgeRecorded(file, "out/fit.2.jsonl"))!.command).toMatch(/ -o plan\.2\.json$/);
  });

  it.each(["memory", "estimate", "plan", "ui", "report"])("is what remat %s says of the trace", async (command) => {
    const what: Readonly<Record<string, readonly string[]>> = {
      plan: ["--max-overhead", "0%", "--iterations", "20"],
      ui: ["--once", "--view", "memory"],
      report: ["-o", join(folder, "verdict.html")],
    };
    const said = (text: string): string | undefined => /^Fits: peak memory .*?\)\./m.exec(text)?.[0];
    const recorded = said((await judgeRecorded(file, file))!.sentence);
    const { stdout } = await remat(command, file, ...(what[command] ?? []));
    expect([said(stdout), recorded]).toEqual([recorded, expect.stringContaining("16 GiB (where it was recorded)")]);
    const asked = await remat(command, file, ...(what[command] ?? []), "--device", "h100");
    expect(asked.stdout).toMatch(/peak memory is .* of 80 GiB \(H100\)/);
  });

  it.each([60, 80, 120])("is no wider than %i columns, but for the command", async (width) => {
    const step = {
      file,
      model: "sequential_1",
      optimizer: "Adam",
      steps: 5,
      alike: 4,
      ops: 63,
      peakBytes: 1,
      mostBytes: 1,
      stepMs: 2,
    };
    let text = "";
    const io = { stderr: { write: (more: string) => (text += more) }, width };
    printFacts(describeStep("fit.remat.jsonl", step), io);
    printFacts((await judgeRecorded(file, "fit.remat.jsonl"))!, io);
    for (const line of text.split("\n"))
      if (!line.includes("remat plan")) expect(line.length).toBeLessThanOrEqual(width);
    expect(text).toMatchSnapshot();
  });

  it("is at the end, of several kinds, how to follow a plan of each", () => {
    expect(describeFollowing(["plan.1.json", "plan.2.json"], ["node", "gan.js", "--name", "a b"]).facts).toEqual([
      "To run with all plans, each for its own passes:",
      "remat exec --plan plan.1.json --plan plan.2.json -- node gan.js --name 'a b'",
    ]);
  });

  it("and how to need less before anything is planned", () => {
    expect(describeReleasing(["node", "gan.js"]).facts).toEqual([
      "To use less memory without a plan or recomputation:",
      "remat exec --early-release -- node gan.js",
    ]);
  });

  it("counts one thing as one", () => {
    const of = { file, model: undefined, optimizer: undefined };
    const step = { ...of, steps: 2, alike: 1, ops: 1, peakBytes: 1, mostBytes: 1, stepMs: 2 };
    expect(describeStep("a.jsonl", step).facts).toEqual([
      "a.jsonl: a step, 1 op, 2 ms while recorded (1 step; 1 other ran other ops).",
    ]);
    expect(describeStep("a.jsonl", { ...step, mostBytes: 2048 }).facts.at(-1)).toBe(
      "a.jsonl: a step, 1 op, 2 ms while recorded (1 step; 1 other ran other ops, one of them with a peak of 2 KiB).",
    );
  });

  it("is why there is nothing, where the program failed or was ended", () => {
    const report = {
      pid: 1,
      thread: 0,
      startedAt: 0,
      writtenAt: 0,
      isOver: true as const,
      version: "4.22.0",
      passes: 3,
    };
    expect(describeEarlyEnd(["node", "a.js"], 130, 5, [report])).toBe(
      "node a.js: ended with exit code 130 before 5 training steps of one kind finished, so nothing is recorded. To record only the first, add --steps 1.",
    );
    expect(describeEarlyEnd(["node", "a.js"], 1, 1, [report])).toBe(
      "node a.js: ended with exit code 1 before a training step finished, so nothing is recorded.",
    );
    expect(describeEarlyEnd(["node", "a.js"], 2, 5, [])).toMatch(
      /before it reported anything, so nothing is recorded\.$/,
    );
    // It may have loaded TensorFlow.js, and be in its first step.
    expect(describeNothing(["node", "a.js"], 137, [])).toMatch(
      /^node a.js: ended with exit code 137 before it completed a training step/,
    );
    expect(describeNothing(["node", "a.js"], 0, [])).toContain("did not load TensorFlow.js");
  });
});
