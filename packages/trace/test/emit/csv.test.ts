import { parse } from "csv-parse/sync";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hostilePieces, hostileText } from "../../../../tooling/testkit/src/hostile-text.js";
import { displaySafe, writeCsv } from "../../src/emit/index.js";

const read = (csv: string): string[][] => parse(csv, { record_delimiter: "\r\n" });

/** Text that a spreadsheet interprets as a formula, even if its field separator is not a comma. */
const formula = /(?:^|[;|\n])\s*[=+\-@＝＋－＠]/;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function check(name: string): void {
  const rows = read(
    writeCsv(
      ["name", name, "is"],
      [
        [name, 5, name],
        ["x", -1.5e-7, true],
      ],
    ),
  );
  expect(rows).toHaveLength(3);
  expect(rows[2]).toEqual(["x", "-1.5e-7", "true"]);
  for (const cell of [rows[0][1], rows[1][0], rows[1][2]]) {
    if (number.test(name)) expect(cell).toBe(name);
    else {
      expect(cell).not.toMatch(formula);
      expect(cell.replaceAll("'", "")).toBe(
        name.replace(/\r\n?/g, "\n").split("\n").map(displaySafe).join("\n").replaceAll("'", ""),
      );
    }
  }
}

test.each(hostilePieces)("a row has as many cells with %j, none a formula", (piece) => {
  check(piece);
  check(`${piece}a`);
  check(`a${piece}1`);
});

test("so with any text", () => {
  fc.assert(fc.property(hostileText, check));
});

test("numbers stay numbers, also as text", () => {
  expect(writeCsv(["a"], [[-5], ["-5"], ["+1.5e3"], ["-5 x"], [0.1], [null], [undefined]])).toBe(
    "a\r\n-5\r\n-5\r\n+1.5e3\r\n'-5 x\r\n0.1\r\n\r\n\r\n",
  );
});
