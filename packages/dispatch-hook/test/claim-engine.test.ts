import * as tf from "@tensorflow/tfjs";
import { expect, test, vi } from "vitest";
import { openDispatchMode, withDispatchMode } from "../src/index.js";

test("of two copies of the package one watches the engine at a time, and the other says so", async () => {
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
