import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cell, formatTable } from "../../src/text/index.js";

interface Fixture {
  readonly rows: readonly (readonly Cell[])[];
  readonly headers: readonly string[];
  readonly rst: string;
  readonly pipe?: string;
}

const fixtures = JSON.parse(
  gunzipSync(readFileSync(new URL("fixtures/tables.json.gz", import.meta.url))).toString("utf8"),
) as readonly Fixture[];

test("rst tables are those of Python's tabulate, byte for byte", () => {
  expect(fixtures.length).toBeGreaterThan(400);
  for (const { rows, headers, rst } of fixtures) expect(formatTable(rows, { headers, format: "rst" })).toBe(rst);
});

test("markdown tables are those of tabulate's pipe format where nothing needs escaping", () => {
  // An underscore at the edge of a word is markup, which tabulate leaves as it is.
  const piped = fixtures.filter(({ pipe }) => pipe !== undefined && !/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/.test(pipe));
  expect(piped.length).toBeGreaterThan(250);
  for (const { rows, headers, pipe } of piped) expect(formatTable(rows, { headers, format: "markdown" })).toBe(pipe);
});

describe("rst", () => {
  test("is the default", () => {
    expect(formatTable([["a", 1]])).toBe("=  =\na  1\n=  =");
  });

  test("aligns numbers at the point and drops zeros after it", () => {
    expect(
      formatTable(
        [
          ["mm", "0.5000"],
          ["addmm", "12.2500"],
          ["t", "0.0000"],
        ],
        { headers: ["op", "ms"] },
      ),
    ).toBe(
      ["=====  =====", "op        ms", "=====  =====", "mm      0.5", "addmm  12.25", "t       0", "=====  ====="].join(
        "\n",
      ),
    );
  });

  test("of an empty table is empty", () => {
    expect(formatTable([])).toBe("");
  });

  test("with headers alone has no rows", () => {
    expect(formatTable([], { headers: ["a", "bc"] })).toBe("===  ====\na    bc\n===  ====\n===  ====");
  });
});

describe("plain", () => {
  test("pads cells to their column and leaves numbers as they are", () => {
    expect(
      formatTable(
        [
          ["0", "relu_", "0.0000"],
          ["10", "t", "nan"],
        ],
        { headers: ["Op", "Name", "ms"], format: "plain" },
      ),
    ).toBe("Op\tName \tms    \n0 \trelu_\t0.0000\n10\tt    \tnan   ");
  });

  test("gives back every cell", () => {
    const cell = fc.string({ unit: "grapheme-ascii" });
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (rows) => {
        const lines = formatTable(rows, { format: "plain" }).split("\n");
        expect(lines.map((line) => line.split("\t").map((text) => text.trimEnd()))).toEqual(
          rows.map((row) => row.map((text) => text.trimEnd())),
        );
        expect(new Set(lines.map((line) => line.length)).size).toBe(1);
      }),
    );
  });
});

describe("markdown", () => {
  test("escapes what would end a cell or a row", () => {
    expect(formatTable([["a|b", "c\nd"]], { headers: ["x", "y"], format: "markdown" })).toBe(
      "| x    | y      |\n|:-----|:-------|\n| a\\|b | c<br>d |",
    );
  });

  test("has a header row even without headers", () => {
    expect(formatTable([["a", 1]], { format: "markdown" })).toBe("|    |    |\n|:---|---:|\n| a  |  1 |");
  });
});

test("lines of one table are never longer than its rule", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string(), fc.oneof(fc.integer(), fc.double({ noNaN: true }), fc.constant(null)))),
      (rows) => {
        const lines = formatTable(rows, { headers: ["name", "value"] }).split("\n");
        expect(lines[0]).toBe(lines.at(-1));
        for (const line of lines) expect([...line].length).toBeLessThanOrEqual([...lines[0]].length);
      },
    ),
  );
});
