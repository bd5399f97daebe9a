import { growing } from "@remat/leaks";
import { sampledCases } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import type { ProgramOrder } from "../src/index.js";
import { runUnder } from "./run-program-under.js";

const ends = ["SIGKILL", "SIGTERM", "SIGINT", "exit", "rethrow"] as const;
const leaks: ProgramOrder = { kind: "leaks" };

async function runLoop(order: ProgramOrder, how: string) {
  const { reports, exitCode } = await runUnder(order, ["env", `HOW=${how}`, "node", "looping/sync-loop.cjs"]);
  expect(reports).toHaveLength(1);
  expect(exitCode).not.toBe(0);
  return reports[0];
}

describe("in a loop that never yields", () => {
  it.each(sampledCases(ends, 2))(
    "remat leaks knows what grows: %s",
    async (how) => {
      const report = await runLoop(leaks, how);
      const [maker, ...others] = growing(report.leaks!);
      expect(others).toEqual([]);
      expect(maker.line).toMatch(/^looping\/sync-loop\.cjs:12:/);
      expect(maker.countPerPeriod).toBe(1);
      expect(report.isOver).toBe(how === "exit" ? true : undefined);
    },
    60_000,
  );

  it.each(sampledCases(ends, 2, 1))(
    "remat exec says when its figures are from: %s",
    async (how) => {
      const startedAt = Date.now();
      const report = await runLoop({ kind: "exec" }, how);
      expect(report.passes).toBeGreaterThan(0);
      expect(report.executed?.peakBytes).toBeGreaterThan(0);
      expect(report.writtenAt).toBeGreaterThan(startedAt);
      expect(report.writtenAt).toBeLessThanOrEqual(Date.now());
      expect(report.isOver).toBe(how === "exit" ? true : undefined);
      if (how === "exit" || how === "rethrow") expect(report.passes).toBeGreaterThan(200);
    },
    60_000,
  );

  it.each(sampledCases(ends, 2))(
    "remat record and remat watch have the steps that were over: %s",
    async (how) => {
      const order = { kind: "record", steps: 3, seconds: 60, watches: true } as const;
      const { recorded, watched } = await runLoop(order, how);
      expect(recorded).toMatchObject([{ steps: 3, optimizer: "SGD" }]);
      expect(watched?.pass).toBeGreaterThan(0);
    },
    60_000,
  );
});
