import type { ExecutedPasses } from "@remat/program";
import { describe, expect, it } from "vitest";
import { describeExecution } from "../src/program/describe-execution.js";
import { printFacts } from "../src/program/print-facts.js";

const MiB = 2 ** 20;
const executed: ExecutedPasses = {
  budgetBytes: undefined,
  stockPeakBytes: undefined,
  heldBytes: 20 * MiB,
  peakBytes: 20 * MiB,
  passesMs: 1000,
  recomputedMs: 0,
  recomputedOps: 0,
  offloadedBytes: 0,
  planPasses: [],
  peakPlan: undefined,
};
const report = { pid: 1, thread: 0, startedAt: 0, writtenAt: 0, isOver: true as const, version: "4.22.0", passes: 8 };
const device = { name: "this machine", memoryBytes: 2 ** 34 };
const command = "remat record -- node train.js";
const facts = (more: Partial<ExecutedPasses>): readonly string[] =>
  describeExecution({ ...report, executed: { ...executed, ...more } }, { device }).facts;

describe("the final report of remat exec", () => {
  it("is the peak, the device's memory, what it cost, and what to type next", () => {
    expect(describeExecution({ ...report, executed }, { device, command })).toEqual({
      facts: [
        "Peak memory 20 MiB of 16 GiB (this machine).",
        "8 passes.",
        "Nothing was recomputed.",
        "To record these passes for a plan:",
        command,
      ],
      command,
    });
  });

  it("is what moved to host memory, of a plan that offloads", () => {
    expect(facts({ offloadedBytes: 16 * MiB })).toContain("2 MiB per pass were offloaded.");
  });

  it("is of how many passes the peak is, where nobody counts in later ones", () => {
    expect(facts({ countedPasses: 3 })[0]).toBe("Peak memory 20 MiB of 16 GiB (this machine) in the first 3 passes.");
  });

  it("is what the process held, by the main thread, which stands for all of them", () => {
    const resident = { beforePasses: 100 * MiB, most: 164 * MiB };
    const last = (thread: number) =>
      describeExecution({ ...report, thread, executed, resident }, { device }).facts.at(-1);
    expect(last(0)).toBe("Resident memory of the process peaked at 164 MiB, 64 MiB more than before the first pass.");
    expect(last(1)).toBe("Nothing was recomputed.");
  });

  it("is the peak within a budget, and what stock takes where that is known", () => {
    expect(facts({ budgetBytes: 22 * MiB, recomputedOps: 20, recomputedMs: 79 })).toEqual([
      "Peak memory 20 MiB of 16 GiB (this machine), within the budget of 22 MiB.",
      "8 passes.",
      "2.5 ops per pass were recomputed, which took 79 ms of 1 s (7.9%).",
    ]);
    expect(facts({ budgetBytes: 22 * MiB, stockPeakBytes: 44 * MiB })[0]).toBe(
      "Peak memory 20 MiB of 16 GiB (this machine), 45.5% of the baseline (44 MiB), within the budget of 22 MiB.",
    );
  });

  it("is how many passes have followed which plan, and what most was held in", () => {
    const told = (files: readonly string[], more: Partial<ExecutedPasses>, peakBytes = 20 * MiB): string =>
      describeExecution(
        { ...report, executed: { ...executed, ...more } },
        { device, plans: files.map((file) => ({ file, peakBytes })) },
      )
        .facts.slice(1, -1)
        .join(" · ");
    expect(told(["plan.json"], { planPasses: [8], peakPlan: 0 })).toBe("8 passes: 8 by plan.json.");
    expect(told(["plan.json"], { planPasses: [8], peakPlan: 0 }, 15 * MiB)).toBe(
      "8 passes: 8 by plan.json. · plan.json predicts 15 MiB, for the step as recorded: the program may have used less memory then, and memory in use between steps is not counted.",
    );
    expect(told(["a.json", "b.json"], { planPasses: [5, 3], peakPlan: 1 })).toBe(
      "8 passes: 5 by a.json, 3 by b.json. · The peak was in passes by b.json.",
    );
    expect(told(["a.json", "b.json"], { planPasses: [5, 0], peakPlan: undefined })).toBe(
      "8 passes: 5 by a.json, 0 by b.json, 3 with early release. · The peak was in passes with early release.",
    );
    expect(
      told(["a.json"], { planPasses: [0], peakPlan: undefined, leftPlan: "op 3 is planned as Log, found Cast" }),
    ).toBe(
      "8 passes: 0 by a.json, 8 with early release. · A pass stopped following its plan: op 3 is planned as Log, found Cast. It continued without the additional frees of the plan.",
    );
    expect(told(["a.json"], { budgetBytes: 22 * MiB, planPasses: [0], peakPlan: undefined })).toBe(
      "8 passes: 0 by a.json, 8 without a plan.",
    );
  });

  it("is what was held, too, where kernels take more for themselves than the budget, which is without that", () => {
    expect(facts({ budgetBytes: 22 * MiB, peakBytes: 40 * MiB }).slice(0, 2)).toEqual([
      "Peak memory 40 MiB of 16 GiB (this machine).",
      "Tensors took 20 MiB, within the budget of 22 MiB. The rest is scratch memory of kernels.",
    ]);
    expect(facts({ budgetBytes: 22 * MiB, measuredPeakBytes: 30 * MiB })[1]).toBe(
      "It reached 30 MiB before the baseline was known.",
    );
    expect(facts({ budgetBytes: 19 * MiB, peakBytes: 40 * MiB })[1]).toMatch(
      /^Tensors took 20 MiB, 1 MiB more than the budget of 19 MiB\.$/,
    );
  });

  it("is what kept the program from going on", () => {
    expect(describeExecution({ ...report, problem: "no room" }, { device, command }).facts).toEqual(["no room"]);
    const refused = { ...executed, budgetBytes: 20 * MiB, stockPeakBytes: 44 * MiB };
    expect(describeExecution({ ...report, problem: "no room", executed: refused }, { device, command })).toEqual({
      facts: ["no room", "Without remat, peak memory is 44 MiB.", "To see what uses the memory:", command],
      command,
    });
    expect(describeExecution({ ...report, thread: 2 }, { device }).facts).toEqual([
      "8 passes in worker 2. The thread was killed before it reported more.",
    ]);
  });

  it("is a line for each sentence, as wide as the terminal, and the command in one piece", () => {
    const told = (width?: number): string => {
      let text = "";
      const io = { stderr: { write: (more: string) => (text += more) }, ...(width !== undefined && { width }) };
      printFacts(describeExecution({ ...report, executed }, { device, command }), io);
      return text;
    };
    const lines = (next: string): string =>
      `remat: Peak memory 20 MiB of 16 GiB (this machine).\n       8 passes.\n       Nothing was recomputed.\n       To record these passes for a plan:${next}${command}\n`;
    expect(told()).toBe(lines("  "));
    expect(told(60)).toBe(lines("\n         "));
  });
});
