import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pythonFixed, pythonFloat, pythonScientific } from "../../src/text/index.js";
import { pythonGeneral } from "../../src/text/python-number.js";

const fixtures = JSON.parse(
  gunzipSync(readFileSync(new URL("fixtures/numbers.json.gz", import.meta.url))).toString("utf8"),
) as readonly (readonly string[])[];

test("prints floats as Python does: str, .0f, .4f, .2e, .0e, g, .3g", () => {
  expect(fixtures.length).toBeGreaterThan(1500);
  for (const [repr, ...expected] of fixtures) {
    const value = Number(repr);
    expect([
      pythonFloat(value),
      pythonFixed(value, 0),
      pythonFixed(value, 4),
      pythonScientific(value, 2),
      pythonScientific(value, 0),
      pythonGeneral(value),
      pythonGeneral(value, 3),
    ]).toEqual(expected);
  }
});

test("names what is not finite as Python does", () => {
  for (const format of [
    pythonFloat,
    (x: number) => pythonFixed(x, 4),
    (x: number) => pythonScientific(x, 2),
    pythonGeneral,
  ])
    expect([Number.NaN, Infinity, -Infinity].map((x) => format(x))).toEqual(["nan", "inf", "-inf"]);
});

test("the output of pythonFloat reads back as the same number", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (x) => {
      expect(Number(pythonFloat(x))).toBe(x);
    }),
  );
});
