import fc from "fast-check";
import { expect, test } from "vitest";
import { type Rows, row, transposeRows } from "../src/index.js";

const rowsOf = (lists: readonly (readonly number[])[]): Rows => ({
  start: Int32Array.from([0, ...lists.map((_, i) => lists.slice(0, i + 1).flat().length)]),
  values: Int32Array.from(lists.flat()),
});

test("the rows of each value are those that hold it, ascending, as often as they hold it", () => {
  const lists = fc.integer({ min: 1, max: 8 }).chain((valueCount) =>
    fc.record({
      valueCount: fc.constant(valueCount),
      lists: fc.array(fc.array(fc.nat(valueCount - 1), { maxLength: 6 }), { maxLength: 8 }),
    }),
  );
  fc.assert(
    fc.property(lists, ({ valueCount, lists }) => {
      const transposed = transposeRows(rowsOf(lists), valueCount);
      for (let value = 0; value < valueCount; value++)
        expect([...row(transposed, value)]).toEqual(
          lists.flatMap((list, i) => list.filter((each) => each === value).map(() => i)),
        );
    }),
  );
});
