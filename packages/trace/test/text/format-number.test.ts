import fc from "fast-check";
import { expect, it } from "vitest";
import { formatNumber } from "../../src/text/index.js";

it("formats whole numbers as the English locale does", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      expect(formatNumber(value)).toBe(value.toLocaleString("en"));
    }),
    { examples: [[0], [999], [1000], [-1000], [123456]] },
  );
});

it("keeps the digits after the decimal point", () => {
  expect(formatNumber(1234.5678)).toBe("1,234.5678");
  expect(formatNumber(10.12)).toBe("10.12");
});
