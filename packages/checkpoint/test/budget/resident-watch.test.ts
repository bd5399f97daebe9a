import { findBackend } from "@remat/dispatch-hook/backends";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ResidentWatch } from "../../src/budget/resident-watch.js";
import { forgetWarnings } from "../../src/budget/warning.js";
import { openMemoryBudget, withMemoryBudget } from "../../src/index.js";

beforeAll(() => tf.setBackend("cpu"));
beforeEach(forgetWarnings);
afterEach(() => {
  vi.restoreAllMocks();
  forgetWarnings();
});

/** Watches a process with the given readings of its current and highest memory, and collects the warnings. */
function watched(...readings: (readonly [bytes: number, highestBytes: number] | undefined)[]) {
  const told: string[] = [];
  vi.spyOn(process, "emitWarning").mockImplementation((message) => void told.push(String(message)));
  const read = () => {
    const reading = readings.shift();
    return reading && { bytes: reading[0], highestBytes: reading[1] };
  };
  return { watch: new ResidentWatch(read), told };
}

describe("a watch over resident memory", () => {
  it("says nothing where the system does not, as in a process that has no descriptor left", () => {
    vi.spyOn(process, "memoryUsage").mockImplementation(() => {
      throw Object.assign(new Error("EMFILE: too many open files, uv_resident_set_memory"), { code: "EMFILE" });
    });
    const watch = new ResidentWatch();
    watch.begin(0);
    watch.look(1);
    expect(process.memoryUsage).toHaveBeenCalled();
  });

  // 300 MB when it begins, of which 20 MB are tensors: 280 MB are not the budget's, which is 100 MB.
  it.each([
    ["as much as that", [494e6, 494e6], 0],
    ["more than that", [494e6 + 1, 494e6 + 1], 1],
    ["more than that in between", [300e6, 494e6 + 1], 1],
    ["more than that before", [300e6, 490e6], 0],
  ] as const)("warns of growth by more than half of the budget and 64 MB: here %s", (_, reading, warnings) => {
    const { watch, told } = watched([300e6, warnings === 0 ? 490e6 : 300e6], reading);
    watch.begin(20e6);
    watch.look(100e6);
    expect(told).toEqual(
      warnings === 0
        ? []
        : [
            "the process uses 214 MB for tensors within a budget of 100 MB, because freed memory is not returned to the system. Lower the budget to make the process smaller.",
          ],
    );
  });

  it("says nothing of tensors on a GPU, which are not resident", () => {
    const device = { device: "cuda:0", allocationUnitBytes: 256, isAsynchronous: true };
    vi.spyOn(findBackend("cpu"), "deviceOf").mockReturnValue(device);
    const { watch, told } = watched([0, 0], [1e9, 1e9]);
    watch.begin(0);
    watch.look(1e6);
    expect(told).toEqual([]);
  });

  it("warns once in a process", () => {
    const first = watched([0, 0], [1e9, 1e9], [1e9, 1e9]);
    first.watch.begin(0);
    first.watch.look(1e6);
    first.watch.look(1e6);
    expect(first.told).toHaveLength(1);
    const second = watched([0, 0], [1e9, 1e9]);
    second.watch.begin(0);
    second.watch.look(1e6);
    expect(second.told).toEqual([]);
  });

  it("says nothing where nothing is told of the process", () => {
    const { watch, told } = watched(undefined, undefined);
    watch.begin(0);
    watch.look(1);
    expect(told).toEqual([]);
  });
});

describe("withMemoryBudget", () => {
  const usage = process.memoryUsage();
  const resources = process.resourceUsage();
  /** Resident memory as `read` has it, for what asks Node. */
  function resident(read: () => number): void {
    vi.spyOn(process, "memoryUsage").mockImplementation(
      Object.assign(() => ({ ...usage, heapTotal: 0, rss: read() }), { rss: read }),
    );
    vi.spyOn(process, "resourceUsage").mockImplementation(() => ({ ...resources, maxRSS: read() / 1024 }));
  }

  function train(steps: number): void {
    const w = tf.variable(tf.ones([16, 16]));
    const optimizer = tf.train.sgd(0.1);
    for (let i = 0; i < steps; i++) optimizer.minimize(() => tf.sum(tf.square(w)));
    w.dispose();
  }

  it("warns of a process that grows, after the pass in which it is seen, once", () => {
    const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    let bytes = 100e6;
    resident(() => bytes);
    withMemoryBudget("1MB", () => {
      train(1);
      expect(emit).not.toHaveBeenCalled();
      bytes = 500e6;
      train(2);
    });
    expect(emit.mock.calls).toEqual([
      [expect.stringContaining("within a budget of 1 MB"), { type: "RematWarning", code: "RESIDENT_OVER_BUDGET" }],
    ]);
  });

  it("warns of a budget that is opened, where what was resident before the first step does not count", () => {
    const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    let bytes = 100e6;
    resident(() => bytes);
    const { close } = openMemoryBudget("1MB");
    bytes = 500e6;
    train(2);
    expect(emit).not.toHaveBeenCalled();
    bytes = 600e6;
    train(1);
    close();
    expect(emit).toHaveBeenCalledTimes(1);
  });

  it("does not count what the step of stock takes that a budget in percent is a part of", () => {
    const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    let bytes = 0;
    resident(() => (bytes === 0 ? 100e6 : bytes));
    withMemoryBudget("100%", () => {
      bytes = 500e6;
      train(3);
    });
    expect(emit).not.toHaveBeenCalled();
  });
});
