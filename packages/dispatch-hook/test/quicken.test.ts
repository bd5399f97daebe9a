import { setFlagsFromString } from "node:v8";
import { compileFunction } from "node:vm";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, it } from "vitest";
import { openDispatchMode } from "../src/index.js";
import { PatchSet } from "../src/patch-set.js";

setFlagsFromString("--allow-natives-syntax");
/** Returns whether V8 finds an object's properties by its shape, not in a dictionary. */
const isFast = compileFunction("return %HasFastProperties(object)", ["object"]) as (object: object) => boolean;

beforeAll(() => tf.setBackend("cpu"));

it("leaves an object fast whose patched methods are not its last properties", () => {
  class Plain {
    method(): number {
      return 1;
    }
  }
  const target: Plain & { later?: number } = new Plain();
  const patches = new PatchSet();
  patches.patch(target, "method", () => () => 2);
  target.later = 3;
  patches.restore();
  expect(Object.getOwnPropertyNames(target)).toEqual(["later"]);
  expect(target.method()).toBe(1);
  expect(isFast(target)).toBe(true);
});

it("leaves the engine fast where it has got properties in between, as from its first backend", () => {
  const engine: object & { later?: number } = tf.engine();
  const close = openDispatchMode({ opDone: () => {} });
  engine.later = 1;
  try {
    close();
    expect(isFast(engine)).toBe(true);
  } finally {
    delete engine.later;
  }
});
