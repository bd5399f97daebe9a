import { readFileSync } from "node:fs";
import { heldPeak } from "@remat/memory";
import { parseTrace } from "@remat/trace";
import { expect, test } from "vitest";
import { runProgram, type WatchedStep } from "../src/index.js";
import { agentFromSources, programsFolder, runStock, runUnder } from "./run-program-under.js";

const order = { kind: "record", steps: 1, seconds: 60, watches: true } as const;

test("steps are told while the program goes on, past those that are recorded, until it is interrupted", async () => {
  const quit = new AbortController();
  const seen = new Map<string, WatchedStep & { readonly peakBytes: number }>();
  const start = {
    command: ["node", "endless.cjs"],
    order,
    cwd: programsFolder,
    stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"],
    agentFolder: await agentFromSources(),
    interrupt: quit.signal,
    onReports: (reports: readonly { readonly watched?: WatchedStep }[]) => {
      for (const { watched } of reports) {
        if (watched === undefined || seen.has(watched.file)) continue;
        const { peakBytes } = heldPeak(parseTrace(readFileSync(watched.file)));
        seen.set(watched.file, { ...watched, peakBytes });
      }
      if (seen.size >= 3) quit.abort();
    },
  };
  const { exitCode, recorded } = await runProgram(start, ({ exitCode, reports }) => ({
    exitCode,
    recorded: reports[0].recorded,
  }));
  // As a shell has it of a program that Ctrl-C has ended, which had no time to write what was recorded but at once.
  expect(exitCode).toBe(130);
  expect(recorded).toMatchObject([{ optimizer: "SGD", steps: 1 }]);
  const steps = [...seen.values()];
  expect(steps.map(({ optimizer }) => optimizer)).toEqual(steps.map(() => "SGD"));
  expect(steps.map(({ pass }) => pass)).toEqual(steps.map(({ pass }) => pass).toSorted((a, b) => a - b));
  expect(steps[0].pass).toBe(1);
  expect(steps.at(-1)!.pass).toBeGreaterThan(2);
  // Nothing grows in it.
  expect(new Set(steps.slice(1).map(({ peakBytes }) => peakBytes)).size).toBe(1);
});

test("a program that is watched prints what it prints by itself", async () => {
  const command = ["node", "fit.mjs"];
  const { stdout, reports } = await runUnder(order, command);
  expect(stdout).toBe(runStock(command));
  expect(reports[0].watched).toMatchObject({ model: "sequential_1", optimizer: "Adam" });
});
