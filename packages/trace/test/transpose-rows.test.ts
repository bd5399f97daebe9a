import fc from "fast-check";
import { expect, test } from "vitest";
import { row, rowsOf, transposeRows } from "../src/index.js";

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
