import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { type ProgramRun, runStock, runUnder } from "./run-program-under.js";

const folder = fileURLToPath(new URL("../../../examples/programs", import.meta.url));
const tsx = fileURLToPath(new URL("../../../examples/node_modules/tsx/dist/cli.mjs", import.meta.url));

interface Expected {
  readonly command: readonly string[];
  /** In the order in which their recording is over. */
  readonly optimizers: readonly (string | undefined)[];
  /** Budget, and the most that is held, as parts of the peak of the recorded step. */
  readonly budget: number;
  readonly limit: number;
}

const half = { budget: 0.5, limit: 0.5 };
/** What a kernel of cpu allocates for itself while it runs (a mean copies its input) is held, but is outside of a budget: it is given less. */
const halfWithScratch = (budget: number) => ({ budget, limit: 0.5 });
/** Where half is out of reach: the least, measured. */
const atLeast = (budget: number, limit = budget) => ({ budget, limit });

const node = (
  script: string,
  optimizers: readonly (string | undefined)[],
  part: { budget: number; limit: number } = half,
): Expected => ({ command: [process.execPath, script], optimizers, ...part });

const programs: readonly [string, Expected][] = [
  ["mnist", node("mnist/train.mjs", ["RMSProp"])],
  // Its layers are so narrow that a batch, weights and two tensors of a sigmoid's gradient are more than half.
  ["iris", node("iris/train.cjs", ["SGD"], atLeast(1.01))],
  ["text generation", node("text-generation/train.mjs", ["RMSProp"])],
  ["translation", node("translation/train.mjs", ["Momentum"])],
  ["a GAN", node("gan/train.cjs", ["SGD", "Momentum"])],
  ["transfer learning", node("transfer-learning/train.mjs", ["SGD", "SGD"], halfWithScratch(0.45))],
  // What it holds are gradients that the program itself keeps until a game is over: nothing of a pass.
  ["reinforcement learning", node("policy-gradient/train.mjs", ["SGD"], atLeast(1))],
  ["a custom loop", node("custom-loop/train.mjs", ["Momentum", undefined])],
  ["a worker", node("worker/train.mjs", ["SGD"], halfWithScratch(0.4))],
  // As iris; and a kernel of cpu for the loss copies its input.
  [
    "TypeScript by tsx",
    { command: [process.execPath, tsx, "typescript/train.ts"], optimizers: ["Momentum"], ...atLeast(0.56, 0.62) },
  ],
];

describe.each(programs)("%s, unmodified", (_name, { command, optimizers, budget, limit }) => {
  let stock: string;
  let recorded: ProgramRun;
  beforeAll(async () => {
    stock = runStock(command, folder);
    recorded = await runUnder({ kind: "record", steps: 2, seconds: 60 }, command, folder);
  });
  const steps = () => recorded.reports.flatMap((report) => report.recorded ?? []);

  it("is recorded, with lines of its own, and prints the same", () => {
    expect(recorded.stdout).toBe(stock);
    expect(steps().map(({ optimizer }) => optimizer)).toEqual(optimizers);
    for (const trace of recorded.traces) {
      const lines = new Set(Array.from({ length: trace.ops.count }, (_, op) => trace.opLine(op)));
      for (const line of lines) {
        if (line === undefined) continue;
        const [file, number] = line.split(":");
        const text = readFileSync(`${folder}/${file}`, "utf8").split("\n")[Number(number) - 1];
        expect(text, line).toMatch(/\w\(/);
      }
    }
  });

  it("keeps within less, from the first step on, with results that are the same to the bit", async () => {
    const peakBytes = Math.max(...steps().map((step) => step.peakBytes));
    const budgetBytes = Math.floor(budget * peakBytes);
    const order = { kind: "exec", budget: `${budgetBytes}` } as const;
    const { stdout, exitCode, reports, stderr } = await runUnder(order, command, folder);
    expect(`${exitCode} ${exitCode === 0 ? "" : stderr}`).toBe("0 ");
    expect(stdout).toBe(stock);
    expect(reports[0].executed).toMatchObject({ budgetBytes });
    expect((reports[0].executed?.peakBytes ?? Number.NaN) / peakBytes).toBeLessThanOrEqual(limit);
  });
});
