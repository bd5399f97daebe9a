import { fitColumns } from "@remat/trace/text";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawTable, type TableColumn } from "../../src/table/draw-table.js";
import { windowRows } from "../../src/table/window-rows.js";
import { asciiGlyphs, unicodeGlyphs } from "../../src/text/glyphs.js";
import { lineWidth } from "../../src/text/line.js";

const columns = (name: (index: number) => string): readonly TableColumn<number>[] => [
  { key: "index", title: "No", width: 7, align: "right", cell: (index) => String(index) },
  { key: "name", title: "Name", width: 10, grow: 1, cell: (index) => name(index) },
  { key: "mark", title: "Mark", width: 8, priority: 1, cell: () => [{ text: "x", style: "good" }] },
  { key: "size", title: "Size", width: 12, align: "right", priority: 2, cell: (index) => `${index} B` },
];

describe("a table", () => {
  it("asks for the rows on the screen only, and draws every line as wide as it may be", () => {
    fc.assert(
      fc.property(
        fc.record({
          count: fc.nat(1_000_000),
          height: fc.integer({ min: 1, max: 80 }),
          cursor: fc.nat(1_000_000),
          top: fc.nat(1_000_000),
        }),
        fc.integer({ min: 20, max: 220 }),
        fc.string({ unit: "grapheme", maxLength: 60 }),
        fc.constantFrom(unicodeGlyphs, asciiGlyphs),
        (list, width, name, glyphs) => {
          const window = windowRows(list);
          const asked: number[] = [];
          const { lines, regions } = drawTable<number>({
            columns: columns(() => name),
            width,
            glyphs,
            count: list.count,
            window,
            row: (index) => {
              asked.push(index);
              return index;
            },
          });
          expect(asked).toEqual(Array.from({ length: window.end - window.top }, (_, i) => window.top + i));
          expect(lines).toHaveLength(1 + window.end - window.top);
          for (const line of lines) expect(lineWidth(line)).toBe(width);
          for (const { x, width: wide } of regions) expect(x + wide).toBeLessThanOrEqual(Math.max(width, 20));
        },
      ),
    );
  });

  it("leaves out the least important columns first, and gives the rest to those that grow", () => {
    const all = columns(() => "");
    expect(fitColumns(all, 100).map(({ column, width }) => [column.key, width])).toEqual([
      ["index", 7],
      ["name", 70],
      ["mark", 8],
      ["size", 12],
    ]);
    expect(fitColumns(all, 36).map(({ column }) => column.key)).toEqual(["index", "name", "size"]);
    expect(fitColumns(all, 20).map(({ column, width }) => [column.key, width])).toEqual([
      ["index", 7],
      ["name", 12],
    ]);
  });

  it("marks what is sorted, selected and found", () => {
    const { lines } = drawTable<number>({
      columns: columns((index) => `row ${index}`),
      width: 60,
      glyphs: unicodeGlyphs,
      count: 3,
      window: windowRows({ count: 3, height: 3, cursor: 1, top: 0 }),
      row: (index) => index,
      sort: { column: "size", descending: true },
      isMatch: (index) => index === 2,
    });
    expect(lines[0].some(({ text, style }) => style === "sorted" && text.includes("▼Size"))).toBe(true);
    expect(lines[2][0].style).toBe("selected");
    expect(lines[3][0].style).toBe("match");
  });
});
