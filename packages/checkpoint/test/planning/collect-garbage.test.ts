import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { collectGarbage } from "../../src/planning/collect-garbage.js";

test("unreachable objects are collected immediately, and programs do not see a new `gc`", async () => {
  const before = "gc" in globalThis;
  const refs = Array.from({ length: 100 }, () => new WeakRef({ bytes: new Uint8Array(1000) }));
  const held = { bytes: new Uint8Array(1000) };
  const heldRef = new WeakRef(held);
  // Until then a WeakRef holds what it was made of.
  await setImmediate();
  collectGarbage();
  expect(refs.filter((ref) => ref.deref() !== undefined)).toEqual([]);
  expect(heldRef.deref()).toBe(held);
  expect("gc" in globalThis).toBe(before);
});
