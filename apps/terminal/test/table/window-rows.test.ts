import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scrollThumb, windowRows } from "../../src/table/window-rows.js";

const lists = fc.record({
  count: fc.nat(1_000_000),
  height: fc.nat(200),
  cursor: fc.integer({ min: -10, max: 1_100_000 }),
  top: fc.integer({ min: -10, max: 1_100_000 }),
});

describe("the window of a table", () => {
  it("holds the cursor, fills the room, and stays within the list", () => {
    const given = checkedShare();
    fc.assert(
      fc.property(lists, (options) => {
        const { count, height } = options;
        const { top, end, cursor } = windowRows(options);
        expect(end - top).toBe(Math.min(count, height));
        expect(top).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(count);
        if (count === 0) {
          expect(cursor).toBe(-1);
          return;
        }
        expect(cursor).toBe(Math.max(0, Math.min(count - 1, options.cursor)));
        if (given(height > 0)) expect(cursor >= top && cursor < end).toBe(true);
      }),
    );
  });

  it("does not move while the cursor stays in it, and by one row when it leaves by one", () => {
    fc.assert(
      fc.property(lists, fc.constantFrom(-1, 1), (options, step) => {
        const before = windowRows(options);
        const after = windowRows({ ...options, cursor: before.cursor + step, top: before.top });
        const isInside = options.count === 0 || (after.cursor >= before.top && after.cursor < before.end);
        expect(Math.abs(after.top - before.top)).toBe(isInside || options.height === 0 ? 0 : 1);
        expect(windowRows({ ...options, cursor: before.cursor, top: before.top })).toEqual(before);
      }),
    );
  });

  it("has a thumb within its bar that touches the ends at the ends of the list only", () => {
    const given = checkedShare();
    fc.assert(
      fc.property(lists, (options) => {
        const window = windowRows(options);
        const height = window.end - window.top;
        const thumb = scrollThumb(window, options.count, height);
        if (!given(height < options.count && height > 0)) {
          expect(thumb).toBeUndefined();
          return;
        }
        const { start, size } = thumb!;
        expect(size).toBeGreaterThanOrEqual(1);
        expect(start).toBeGreaterThanOrEqual(0);
        expect(start + size).toBeLessThanOrEqual(height);
        if (window.top === 0) expect(start).toBe(0);
        if (window.end === options.count) expect(start + size).toBe(height);
      }),
    );
  });
});
