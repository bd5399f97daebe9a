import { describe, expect, test } from "vitest";
import { EarlyReleaseWatcher } from "../src/agent/execute/early-release-watcher.js";
import { ExecutionWatcher } from "../src/agent/execute/execution-watcher.js";
import type { ThreadReporter } from "../src/agent/thread-reporter.js";
import { Guard, type Observer } from "../src/outside/guard.js";

const broken = () => {
  throw new TypeError("the observer's own");
};

test.each<[string, Observer, string]>([
  ["before a pass", { gradients: broken }, "before a forward and backward pass"],
  ["after a pass", { gradients: (_, next) => (next(), broken()) }, "after a forward and backward pass"],
  ["before an update", { applyGradients: broken }, "before an update of the weights"],
  ["after an update", { applyGradients: (_, next) => (next(), broken()) }, "after an update of the weights"],
  ["in between", { opOver: broken }, "the observer's own"],
])("an observer that throws %s is closed, the note says where, and the pass runs once", (_, observer, message) => {
  const seen: unknown[] = [];
  const mode = new Guard((error) => seen.push((error as Error).message)).mode(observer);
  const result = { value: "value", grads: [] };
  let runs = 0;
  const next = (() => (runs++, result)) as never;
  mode.opOver?.(undefined as never);
  const passed = mode.gradients?.(undefined as never, next);
  mode.applyGradients?.(undefined as never, next);
  expect(seen).toEqual([message]);
  expect(passed).toBe(mode.gradients === undefined ? undefined : result);
  expect(runs).toBe(mode.gradients === undefined && mode.applyGradients === undefined ? 0 : 1);
});

test("an error of the program goes on to the program, and the observer stays", () => {
  const seen: unknown[] = [];
  const mode = new Guard((error) => seen.push(error)).mode({ gradients: (_, next) => next() } as Observer);
  expect(() =>
    mode.gradients?.(undefined as never, () => {
      throw new Error("the program's");
    }),
  ).toThrow("the program's");
  expect(seen).toEqual([]);
});

describe("a watcher of execution around a pass", () => {
  const result = { value: "value", grads: [] } as never;
  const reporterThat = (throws: string) =>
    ({
      passes: 0,
      passStarting: () => throws === "before" && broken(),
      passed: () => throws === "after" && broken(),
    }) as unknown as ThreadReporter;

  test.each(["before", "after"])("is told by its own error if it throws %s it, and the pass runs once", (where) => {
    for (const make of [
      (guard: Guard) => new EarlyReleaseWatcher(reporterThat(where), guard),
      (guard: Guard) => new ExecutionWatcher({ peakBytes: 0 } as never, [], reporterThat(where), guard),
    ]) {
      const seen: unknown[] = [];
      const guard = new Guard((error) => seen.push(error));
      const mode = guard.mode(make(guard) as Observer);
      let runs = 0;
      expect(mode.gradients?.(undefined as never, (() => (runs++, result)) as never)).toBe(result);
      expect(runs).toBe(1);
      expect(seen).toEqual([new TypeError("the observer's own")]);
    }
  });
});
