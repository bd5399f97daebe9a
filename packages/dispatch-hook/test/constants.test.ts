import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { expect, test } from "vitest";
import { constantIn, valuesOf } from "../src/residency/constants.js";

const isOneValue = (values: Float32Array) => values.every((value) => Object.is(value, values[0]));

test("takes a long list for a constant if all its values are the same, and gives it back", () => {
  const given = checkedShare();
  const value = fc.constantFrom(0, -0, 1, 0.5, Number.NaN, Infinity);
  fc.assert(
    fc.property(
      fc.integer({ min: 1025, max: 3000 }),
      value,
      fc.option(fc.tuple(fc.nat(), value), { freq: 1 }),
      fc.nat(3),
      (length, fill, other, offset) => {
        // A view into the middle of a buffer.
        const around = new Float32Array(length + 7).fill(7);
        const values = around.subarray(offset, offset + length).fill(fill);
        if (other !== null) values[other[0] % length] = other[1];
        const constant = constantIn(values);
        expect(constant !== undefined).toBe(isOneValue(values));
        if (given(constant)) expect(valuesOf(constant)).toEqual(values.slice());
      },
    ),
  );
});

test("keeps short lists as they are", () => {
  const values = Int32Array.from({ length: 1024 }, (_, i) => i);
  const constant = constantIn(values);
  values.fill(0);
  expect(constant && valuesOf(constant)).toEqual(Int32Array.from({ length: 1024 }, (_, i) => i));
});

test("knows nothing of longer lists, of text and of what is not in JavaScript", () => {
  expect(constantIn(Uint8Array.from({ length: 1025 }, (_, i) => i % 2))).toBeUndefined();
  expect(constantIn(["a"])).toBeUndefined();
  expect(constantIn(null)).toBeUndefined();
});
