import { sampledCases } from "@remat/testkit";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test } from "vitest";
import { failing, programs } from "./programs.js";
import { budgeted, early, methodsOf, muchGoes, planned, stock, type Way } from "./ways.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const ways: Readonly<Record<string, Way>> = {
  "early release": early,
  "much evicted after every op": muchGoes,
  "a budget kept without a plan": budgeted([0.5, 0.7, 0.9, 1], true),
  "a budget with plans": budgeted([0.5, 0.7, 0.9, 1], false),
  "a plan for the first pass": planned,
};

// Programs that fail leave scopes open in tfjs's engine, as they do without remat.
describe.each(sampledCases(Object.keys(programs), 2))("%s", (name) => {
  test("shows what it shows in stock, to the bit, and leaves as much, in every way", async () => {
    const program = programs[name];
    const before = methodsOf();
    // The first run also leaves what backends and layers keep for good.
    await stock(program);
    const expected = await stock(program);
    // Stock leaks what a failing step has saved.
    const left = failing.has(name)
      ? Object.fromEntries(Object.keys(expected.left).map((key) => [key, 0]))
      : expected.left;
    for (const [way, runIn] of Object.entries(ways)) {
      const found = await runIn(program);
      expect({ way, ...found }).toEqual({ way, seen: expected.seen, left });
      const patched = [...methodsOf()].filter(([key, method]) => before.get(key) !== method).map(([key]) => key);
      expect({ way, patched }).toEqual({ way, patched: [] });
    }
  });
});
