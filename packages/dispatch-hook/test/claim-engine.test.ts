import * as tf from "@tensorflow/tfjs";
import { expect, test, vi } from "vitest";
import { openDispatchMode, withDispatchMode } from "../src/index.js";

test("a copy whose modes only observe stands back for another copy, in the midst of a pass, too", async () => {
  vi.resetModules();
  const other = await import("../src/index.js");
  const problems: string[] = [];
  const [mine, others]: string[][] = [[], []];
  const observe = () => {
    const close = openDispatchMode({
      opDone: ({ kernel }) => void mine.push(kernel),
      cannotWatch: ({ code }) => {
        problems.push(code);
        close();
      },
    });
  };
  const relu = () => tf.tidy(() => void tf.relu(tf.tensor1d([1])));
  observe();
  observe();
  other.withDispatchMode({ opDone: ({ kernel }) => void others.push(kernel) }, relu);
  expect([problems, mine, others]).toEqual([["TWO_HOOKS", "TWO_HOOKS"], [], ["Relu"]]);
  expect(Object.getOwnPropertySymbols(tf.engine())).toEqual([]);
  observe();
  const gradient = tf.grad((x) => {
    other.withDispatchMode({ opDone: ({ kernel }) => void others.push(kernel) }, relu);
    return tf.square(x as tf.Tensor1D).sum();
  });
  expect([...tf.tidy(() => gradient(tf.tensor1d([1, 2])).dataSync())]).toEqual([2, 4]);
  expect(problems).toHaveLength(3);
  expect(others).toEqual(["Relu", "Relu"]);
  expect(Object.getOwnPropertySymbols(tf.engine())).toEqual([]);
});

test("no mode stands back if another does more than observe", async () => {
  vi.resetModules();
  const other = await import("../src/index.js");
  const problems: unknown[] = [];
  const closeObserver = openDispatchMode({ cannotWatch: (problem) => void problems.push(problem) });
  const closeExecutor = openDispatchMode({});
  expect(() => other.openDispatchMode({})).toThrow(expect.objectContaining({ code: "TWO_HOOKS" }));
  expect(problems).toEqual([]);
  closeExecutor();
  closeObserver();
});

test("only one of two copies of the package watches the engine at a time, and the other reports that", async () => {
  vi.resetModules();
  const other = await import("../src/index.js");
  expect(other.openDispatchMode).not.toBe(openDispatchMode);
  const kernels: string[] = [];
  const close = openDispatchMode({ opDone: ({ kernel }) => kernels.push(kernel) });
  expect(() => other.openDispatchMode({})).toThrow(
    expect.objectContaining({ code: "TWO_HOOKS", message: expect.stringContaining("npm ls @remat/dispatch-hook") }),
  );
  withDispatchMode({}, () => tf.tidy(() => void tf.relu(tf.tensor1d([1]))));
  expect(kernels).toEqual(["Relu"]);
  close();
  const closeOther = other.openDispatchMode({});
  expect(() => withDispatchMode({}, () => {})).toThrow(/another copy/);
  closeOther();
  expect(Object.getOwnPropertySymbols(tf.engine())).toEqual([]);
});
