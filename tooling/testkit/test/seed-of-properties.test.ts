import fc from "fast-check";
import { expect, it } from "vitest";
import { seedOfProperties } from "../vitest/seed-of-properties.js";

it("is the same for every run that asks for none, and the one that is asked for", () => {
  expect(seedOfProperties(undefined)).toBe(20260101);
  expect(seedOfProperties("")).toBe(20260101);
  expect(seedOfProperties("-43403862")).toBe(-43403862);
  expect(seedOfProperties("random")).toBeUndefined();
});

it.each(["rnd", "1.5", "1e99", "4294967296"])("is not %s", (asked) => {
  expect(() => seedOfProperties(asked)).toThrow(
    `FAST_CHECK_SEED is "${asked}". Set it to a 32-bit integer or to "random".`,
  );
});

it("decides what properties of this very run are tried on", () => {
  expect(fc.readConfigureGlobal().seed).toBe(seedOfProperties(process.env.FAST_CHECK_SEED));
});
