import fc from "fast-check";
import { expect, test } from "vitest";
import { RowInterner } from "../src/row-interner.js";

test("equal rows get one id, others their own, in order of appearance", () => {
  const cell = fc.oneof(fc.integer({ min: -2, max: 2 }), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }));
  const rows = fc.array(fc.array(cell, { maxLength: 6 }), { maxLength: 2000 });
  fc.assert(
    fc.property(rows, (rows) => {
      const interner = new RowInterner();
      const ids = new Map<string, number>();
      for (const row of rows) {
        const key = row.join();
        if (!ids.has(key)) ids.set(key, ids.size);
        expect(interner.intern(Int32Array.from([...row, 99]), row.length)).toBe(ids.get(key));
      }
      expect(interner.size).toBe(ids.size);
    }),
  );
});

test("grows past its first tables", () => {
  const interner = new RowInterner();
  const row = new Int32Array(40);
  const intern = (i: number) => {
    row.fill(i);
    row[0] = i * i;
    return interner.intern(row, 1 + (i % 40));
  };
  const ids = Array.from({ length: 5000 }, (_, i) => intern(i));
  expect(ids).toEqual(Array.from({ length: 5000 }, (_, i) => intern(i)));
  expect(new Set(ids).size).toBe(interner.size);
});
