import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitTable, formatTable } from "../../src/text/index.js";

const headers = ["Module", "Kind", "Held", "Time"];
const rows = [
  ["net.encoder.layers.0", "Dense", "1.5 GiB", "12 ms"],
  ["net.encoder.layers.11", "Attention", "2 GiB", "3 ms"],
];
const shown = (width: number, worth?: readonly number[]): string => {
  const { headers: kept, rows: cells } = fitTable(rows, { headers, width, ...(worth && { worth }) });
  return formatTable(cells, { headers: kept });
};

describe("a table that is too wide", () => {
  it("stays as it is where it fits, to the character", () => {
    const whole = formatTable(rows, { headers });
    const width = whole.indexOf("\n");
    expect(shown(width)).toBe(whole);
    expect(fitTable(rows, { headers, width }).wholeWidth).toBe(width);
    expect(shown(width - 1)).not.toBe(whole);
  });

  it("loses columns of least worth, and says which", () => {
    expect(fitTable(rows, { headers, width: 45, worth: [9, 1, 3, 2] })).toMatchObject({
      headers: ["Module", "Held", "Time"],
      leftOut: ["Kind"],
    });
    expect(fitTable(rows, { headers, width: 24, worth: [9, 1, 3, 2] }).leftOut).toEqual(["Kind", "Time"]);
    expect(fitTable(rows, { headers, width: 45 }).leftOut).toEqual(["Time"]);
  });

  it("keeps a narrow column for which a wide one of more worth leaves room", () => {
    const fitted = fitTable([["net", "a sentence of some length", "4 KiB", "1 ms"]], {
      headers,
      width: 30,
      worth: [9, 3, 2, 1],
    });
    expect(fitted).toMatchObject({ headers: ["Module", "Held", "Time"], leftOut: ["Kind"] });
  });

  it("loses the beginning of names where that is not enough", () => {
    expect(shown(28, [9, 1, 3, 2])).toBe(
      [
        "===================  =======",
        "Module               Held",
        "===================  =======",
        "…t.encoder.layers.0  1.5 GiB",
        "….encoder.layers.11  2 GiB",
        "===================  =======",
      ].join("\n"),
    );
    expect(fitTable(rows, { headers, width: 28, worth: [9, 1, 3, 2] }).rows[1][0]).toBe("….encoder.layers.11");
  });

  it("is never wider than it may be, and keeps what it shows in order", () => {
    const cell = fc.string({ maxLength: 30, unit: "grapheme-ascii" });
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 4, maxLength: 4 }), { maxLength: 5 }),
        fc.integer({ min: 40, max: 160 }),
        fc.array(fc.nat(5), { minLength: 4, maxLength: 4 }),
        (cells, width, worth) => {
          const fitted = fitTable(cells, { headers, width, worth });
          const text = formatTable(fitted.rows, { headers: fitted.headers });
          for (const line of text.split("\n")) expect([...line].length).toBeLessThanOrEqual(width);
          expect([...fitted.headers, ...fitted.leftOut].toSorted()).toEqual(headers.toSorted());
          expect(headers.filter((header) => fitted.headers.includes(header))).toEqual(fitted.headers);
        },
      ),
    );
  });
});
