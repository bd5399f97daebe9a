import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { sampledCases } from "@remat/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { type ProgramRun, runStock, runUnder } from "./run-program-under.js";

const folder = fileURLToPath(new URL("../../../examples/programs", import.meta.url));
const tsx = fileURLToPath(new URL("../../../examples/node_modules/tsx/dist/cli.mjs", import.meta.url));

interface Expected {
  readonly command: readonly string[];
  /** In the order in which their recording is over. */
  readonly optimizers: readonly (string | undefined)[];
  /** As a fraction of the baseline's peak: one half, or if that cannot be reached, the lowest measured. */
  readonly budget: number;
  /**
   * The budget is a fraction of a whole recorded step's peak instead of the first unmodified pass and its update, for
   * programs whose other passes use more.
   */
  readonly ofRecorded?: true;
}

const half = { budget: 0.5 };

const node = (
  script: string,
  optimizers: readonly (string | undefined)[],
  part: Pick<Expected, "budget" | "ofRecorded"> = half,
): Expected => ({ command: [process.execPath, script], optimizers, ...part });

const programs: readonly [string, Expected][] = [
  ["mnist", node("mnist/train.mjs", ["RMSProp"])],
  // Its layers are so narrow that the data, weights and what the gradient of a sigmoid reads and makes are more than half.
  ["iris", node("iris/train.cjs", ["SGD"], { budget: 0.58 })],
  ["text generation", node("text-generation/train.mjs", ["RMSProp"])],
  ["translation", node("translation/train.mjs", ["Momentum"])],
  ["a GAN", node("gan/train.cjs", ["SGD", "Momentum"], { ...half, ofRecorded: true })],
  ["transfer learning", node("transfer-learning/train.mjs", ["SGD", "SGD"])],
  // It keeps gradients itself until a game is over, which do not belong to a pass.
  ["reinforcement learning", node("policy-gradient/train.mjs", ["SGD"], { budget: 1, ofRecorded: true })],
  ["a custom loop", node("custom-loop/train.mjs", ["Momentum", undefined])],
  ["a worker", node("worker/train.mjs", ["SGD"])],
  // As iris.
  [
    "TypeScript by tsx",
    { command: [process.execPath, tsx, "typescript/train.ts"], optimizers: ["Momentum"], budget: 0.51 },
  ],
];

describe.each(sampledCases(programs, 4))("%s, unmodified", (_name, { command, optimizers, budget, ofRecorded }) => {
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

  it("keeps within less, with results that are the same to the bit", async () => {
    const recordedBytes = Math.max(...steps().map((step) => step.peakBytes));
    const given = ofRecorded ? `${Math.floor(budget * recordedBytes)}B` : `${100 * budget}%`;
    const { stdout, exitCode, reports, stderr } = await runUnder({ kind: "exec", budget: given }, command, folder);
    expect(`${exitCode} ${exitCode === 0 ? "" : stderr}`).toBe("0 ");
    expect(stdout).toBe(stock);
    const { heldBytes = Number.NaN, stockPeakBytes = recordedBytes } = reports[0].executed ?? {};
    // One account of memory, of all that the program holds: but for the scalars that it keeps from step to step.
    const apart = stockPeakBytes - Math.max(...steps().map((step) => step.mostBytes));
    if (!ofRecorded) expect(Math.abs(apart)).toBeLessThanOrEqual(64);
    expect(heldBytes / stockPeakBytes).toBeLessThanOrEqual(budget);
  });
});
