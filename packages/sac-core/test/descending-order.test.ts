import fc from "fast-check";
import { expect, test } from "vitest";
import { descendingOrder } from "../src/descending-order.js";

test("is that of a stable sort by comparison", () => {
  const number = fc.oneof(
    fc.double({ min: 0, noNaN: true }),
    fc.nat(3),
    fc.constantFrom(0, 5e-324, Number.MAX_VALUE, Infinity),
  );
  fc.assert(
    fc.property(fc.array(number, { maxLength: 300 }), (numbers) => {
      const values = Float64Array.from(numbers, (value) => value + 0);
      const expected = [...values.keys()].sort((a, b) =>
        values[a] === values[b] ? a - b : values[a] > values[b] ? -1 : 1,
      );
      expect([...descendingOrder(values)]).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test("the order of a view into a larger buffer is that of the view", () => {
  expect([...descendingOrder(Float64Array.of(9, 1, 3, 2, 8).subarray(1, 4))]).toEqual([1, 2, 0]);
});
