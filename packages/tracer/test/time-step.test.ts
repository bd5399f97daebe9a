import { type OpDone, openDispatchMode } from "@remat/dispatch-hook";
import { RuntimeSource } from "@remat/trace";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type ModelContext, OpStopwatch, timeFakeStep, timeStep, traceFakeStep } from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));

const network =
  (units: number, activation: "relu" | "tanh" = "relu") =>
  ({ tf, batch = 4 }: ModelContext) => {
    const layers = [tf.layers.dense({ units, activation, inputShape: [6] }), tf.layers.dense({ units: 3 })];
    return { model: tf.sequential({ name: "mlp", layers }), inputs: tf.ones([batch, 6]) };
  };

const options = { optimizer: "adam" };
const few = { ...options, warmUpSteps: 1, minSteps: 3, maxSteps: 3 };
const traceOf = (exported: unknown) => traceFakeStep(exported, { ...options, backend: "cpu", stepsBefore: 1 });

describe("timeStep", () => {
  it("tells for each op of a trace what it takes in a real step, and what the step takes beside", async () => {
    const trace = await traceOf(network(8));
    const { trace: timed, hostMs } = await timeStep(network(8), trace, few);
    const { runtimeMs, runtimeSource, runtimeRuns, runtimeSpreadMs } = timed.ops;
    expect(new Set(runtimeSource)).toEqual(new Set([RuntimeSource.measured]));
    expect(new Set(runtimeRuns)).toEqual(new Set([3]));
    expect(runtimeMs.every((ms) => ms > 0)).toBe(true);
    expect(runtimeSpreadMs.every((ms) => ms >= 0)).toBe(true);
    expect(hostMs).toBeGreaterThan(0);
    // Nothing of it goes into the trace that was given.
    expect(trace.ops.runtimeSource).not.toContain(RuntimeSource.measured);
  });

  it("finds the costly op", async () => {
    const build = network(4000, "tanh");
    const { trace } = await timeStep(build, await traceOf(build), few);
    const totalMs = new Map<string, number>();
    for (let op = 0; op < trace.ops.count; op++)
      totalMs.set(trace.opName(op), (totalMs.get(trace.opName(op)) ?? 0) + trace.ops.runtimeMs[op]);
    expect(totalMs.get("Tanh")).toBeGreaterThan(totalMs.get("Reshape") ?? Number.NaN);
  });

  it("takes the ways to run a step in turns, and tells what each takes outside of ops", async () => {
    const trace = await traceOf(network(8));
    const opened: string[] = [];
    const way = (name: string, ms: number) => () => {
      opened.push(name);
      const close = openDispatchMode({
        gradientsDone() {
          // In CPU time, which steps on this backend are timed by.
          const start = process.cpuUsage();
          for (let spent = { user: 0, system: 0 }; (spent.user + spent.system) / 1000 < ms; )
            spent = process.cpuUsage(start);
        },
      });
      return () => {
        opened.push(`${name} over`);
        close();
      };
    };
    const ways = [
      { open: way("plain", 0) },
      { open: way("slow", 200), times: "step" },
      { open: way("slower", 400), times: "both" },
    ] as const;
    const { trace: timed, hostMsByWay, hostMs } = await timeStep(network(8), trace, { ...few, ways });
    // One to warm up, and three of each.
    expect(opened.filter((name) => name === "plain")).toHaveLength(4);
    expect(opened.filter((name) => name === "slow")).toHaveLength(3);
    expect(opened.filter((name) => name === "slower")).toHaveLength(6);
    expect(opened.slice(-6)).toEqual(["slow", "slow over", "slower", "slower over", "slower", "slower over"]);
    expect(hostMsByWay[0]).toBe(hostMs);
    expect(hostMsByWay[1] - hostMs).toBeGreaterThan(100);
    expect(hostMsByWay[2] - hostMsByWay[1]).toBeGreaterThan(100);
    expect(new Set(timed.ops.runtimeRuns)).toEqual(new Set([6]));
  });

  it("watches no op of a step that is timed as a whole", async () => {
    const trace = await traceOf(network(8));
    const stopwatch = new OpStopwatch(trace);
    const done = vi.spyOn(stopwatch, "opDone");
    expect(stopwatch.timeWhole(() => tf.tidy(() => void tf.neg(tf.scalar(1))))).toBeGreaterThan(0);
    expect(done).not.toHaveBeenCalled();
  });

  it("refuses a trace of another model, by the first op that differs, and leaves the engine as it was", async () => {
    const { runKernelFunc } = tf.engine() as unknown as { runKernelFunc: unknown };
    const before = tf.memory().numTensors;
    const trace = await traceOf(network(8, "tanh"));
    await expect(timeStep(network(8), trace, few)).rejects.toThrow(/op \d+ of the step is \w+, but the trace has \w+:/);
    await expect(timeStep(network(8), trace, { ...few, optimizer: "sgd" })).rejects.toMatchObject({
      code: "STEP_MISMATCH",
    });
    expect((tf.engine() as unknown as { runKernelFunc: unknown }).runKernelFunc).toBe(runKernelFunc);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("has the times of ops add up to what they take together, though another one is slow in each step", async () => {
    const trace = await traceOf(network(8));
    const { count, phase } = trace.ops;
    const stopwatch = new OpStopwatch(trace);
    let clock = 0;
    const now = vi.spyOn(performance, "now").mockImplementation(() => clock);
    try {
      for (let step = 0; step < 3; step++)
        stopwatch.time(() => {
          for (let op = 0; op < count; op++) {
            stopwatch.opStarting();
            clock += op === step ? 100 : 1;
            stopwatch.opDone({ kernel: trace.opName(op), phase: phase[op] } as OpDone);
            clock += 2;
          }
        });
    } finally {
      now.mockRestore();
    }
    const { trace: timed, hostMs } = stopwatch.times();
    expect(timed.ops.runtimeMs.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(count + 99, 6);
    expect(new Set(timed.ops.runtimeMs).size).toBe(1);
    expect(hostMs).toBeCloseTo(2 * count, 6);
  });

  it("times each op by the shorter of wall and CPU time, if given a clock of CPU time", async () => {
    const trace = await traceOf(network(8));
    const { count, phase } = trace.ops;
    const time = { wall: 0, cpu: 0 };
    const cpu = () => time.cpu;
    const stopwatch = new OpStopwatch(trace, cpu, cpu);
    const now = vi.spyOn(performance, "now").mockImplementation(() => time.wall);
    try {
      stopwatch.time(() => {
        for (let op = 0; op < count; op++) {
          stopwatch.opStarting();
          // Every second op waits for another program. The others run on two threads.
          time.wall += op % 2 === 0 ? 50 : 1;
          time.cpu += 2;
          stopwatch.opDone({ kernel: trace.opName(op), phase: phase[op] } as OpDone);
        }
      });
    } finally {
      now.mockRestore();
    }
    const { runtimeMs } = stopwatch.times().trace.ops;
    expect(Array.from(runtimeMs)).toEqual(Array.from({ length: count }, (_, op) => (op % 2 === 0 ? 2 : 1)));
  });

  it("refuses a step that ends too early", async () => {
    const trace = await traceOf(network(8));
    const stopwatch = new OpStopwatch(trace);
    expect(() => stopwatch.time(() => {})).toThrow(/op 0 of the step is missing, but the trace has/);
  });
});

describe("timeFakeStep", () => {
  it("takes the time of a step without kernels, whatever the size of the model", async () => {
    const before = tf.memory().numTensors;
    // Its weights alone would take 16 TB.
    const hostMs = await timeFakeStep(network(2 ** 40), { ...few, backend: "cpu" });
    expect(hostMs).toBeGreaterThan(0);
    expect(tf.memory().numTensors).toBe(before);
    expect(tf.getBackend()).toBe("cpu");
  });
});

describe("time that other programs take", () => {
  /** The thread stands still, as if another program had the CPU. */
  const interrupted = (ms: number) => () =>
    openDispatchMode({
      gradientsDone: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
    });

  it("is no time of a step, neither of its ops nor beside them, whichever way of taking it is interrupted", async () => {
    const trace = await traceOf(network(8));
    const waitMs = 60;
    for (const interruptedWay of [0, 1]) {
      const ways = [0, 1].flatMap((way) =>
        (["step", "ops"] as const).map((times) => ({
          open: way === interruptedWay ? interrupted(waitMs) : () => () => undefined,
          times,
        })),
      );
      const { trace: timed, hostMsByWay } = await timeStep(network(8), trace, { ...few, ways });
      const opsMs = timed.ops.runtimeMs.reduce((sum, ms) => sum + ms, 0);
      for (const hostMs of hostMsByWay) expect(opsMs + hostMs).toBeLessThan(waitMs);
    }
  });

  it("is part of a step by the wall clock, which other backends are timed by", async () => {
    const trace = await traceOf(network(8));
    const stopwatch = new OpStopwatch(trace);
    const close = interrupted(30)();
    try {
      expect(stopwatch.timeWhole(() => tf.tidy(() => tf.grads((x) => tf.square(x))([tf.scalar(1)])))).toBeGreaterThan(
        25,
      );
    } finally {
      close();
    }
  });
});
