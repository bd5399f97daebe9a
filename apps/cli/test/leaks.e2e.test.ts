import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LeakReport } from "@remat/leaks";
import type { ThreadReport } from "@remat/program";
import { Category, Phase, TraceBuilder, writeTrace } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reportLeaks } from "../src/commands/leaks.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-leaks-"));
const growing = join(folder, "growing.remat.jsonl");
const steady = join(folder, "steady.remat.jsonl");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Eight steps, whose losses are kept or freed. */
function trace(isKept: boolean): Buffer {
  const header = { framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 } as const;
  const b = new TraceBuilder({ ...header, deviceMemoryBytes: 2 ** 20 });
  for (let step = 0; step < 8; step++) {
    const loss = b.allocate(4, "cpu", Category.activation);
    const outputs = [b.tensor({ storage: loss, dtype: "float32", shape: [] })];
    b.op({ name: "Mean", line: "train.js:3:5", phase: Phase.forward, outputs, runtimeMs: 1 });
    const update = b.allocate(8, "cpu", Category.temporary);
    const updated = [b.tensor({ storage: update, dtype: "float32", shape: [2] })];
    b.op({ name: "Add", line: "train.js:4:5", phase: Phase.optimizer, outputs: updated, runtimeMs: 1 });
    b.free(update);
    if (!isKept) b.free(loss);
  }
  return Buffer.concat([...writeTrace(b.build())]);
}

beforeAll(() => {
  writeFileSync(growing, trace(true));
  writeFileSync(steady, trace(false));
});

describe("remat leaks -- PROGRAM", () => {
  const command = ["node", "train.js"];
  const device = { name: "a machine" };
  const idle: LeakReport = {
    periods: [],
    count: 0,
    bytes: 0,
    makers: [],
    process: [],
    collectsLost: false,
    stacks: { taken: 0, outlived: 0 },
    elapsedMs: 9,
  };
  const thread = (number: number, leaks?: LeakReport) =>
    ({ thread: number, device: `cuda:${number}`, leaks }) as unknown as ThreadReport;

  it("says nothing of growth where no TensorFlow.js was there to be watched", () => {
    const { text, grows, isWatched } = reportLeaks(command, [], () => device);
    expect(text).toContain("did not load TensorFlow.js");
    expect([grows, isWatched]).toEqual([false, false]);
  });

  it("tells what grows in a worker first, and nothing of a thread that did nothing", () => {
    const steady = { ...idle, count: 3, bytes: 12, periods: [{ kind: "step", count: 9 }] };
    const maker = { verdict: "growing", count: 9, lost: 9, held: 0, bytes: 36, countPerPeriod: 1, bytesPerPeriod: 4 };
    const more = {
      period: "step",
      origin: "op",
      op: "mul",
      periods: 9,
      modules: [],
      names: ["Mul"],
      shapes: ["float32 []"],
      line: "work.js:4:5",
    };
    const leaking = { ...steady, makers: [{ ...maker, ...more }] } as unknown as LeakReport;
    const asked: (string | undefined)[] = [];
    const told = reportLeaks(command, [thread(0, idle), thread(1, steady), thread(2, leaking)], (on) => {
      asked.push(on);
      return device;
    });
    expect(asked).toEqual(["cuda:2", "cuda:1"]);
    const heads = told.text.split("\n").filter((line) => line.startsWith("remat: "));
    expect(heads).toHaveLength(2);
    expect(heads[0]).toMatch(/^remat: worker 2: memory grows by 1 tensor/);
    expect(heads[1]).toMatch(/^remat: worker 1: nothing grows/);
    expect([told.grows, told.isWatched]).toEqual([true, true]);
    expect(reportLeaks(command, [thread(0, idle)], () => device).text).toContain("nothing grows");
  });
});

describe("remat leaks TRACE", () => {
  it("names the lines whose storages outlive their steps, and ends with 1", async () => {
    const { code, stdout } = await remat("leaks", growing);
    expect(code).toBe(1);
    const [facts] = stdout.split("\n\n");
    expect(facts.split("\n")).toEqual([
      "Memory grows by 1 storage and 4 B per step (8 steps observed).",
      "1 MiB (where it was recorded) will be full after 262,136 more steps, in 9 minutes at this speed.",
    ]);
    expect(stdout).toMatch(/train\.js:3:5.*Mean.*growing/);
  });

  it("takes the device that is asked for", async () => {
    const { stdout } = await remat("leaks", growing, "--device", "a100");
    expect(stdout).toMatch(/80 GiB \(A100\) will be full after/);
  });

  it("writes other formats", async () => {
    const { stdout } = await remat("leaks", growing, "--format", "csv");
    expect(stdout.split("\n")[1]).toMatch(/^train\.js:3:5,Mean,float32 \[\],,"growing, activation",8,32,1,4,/);
  });

  it("ends with 0 where nothing grows", async () => {
    const { code, stdout } = await remat("leaks", steady);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^No leak: everything the trace allocates is freed\./);
  });
});
