import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { displaySafe, formatTable } from "../../src/text/index.js";

const hostile = [
  "\x1b[2J",
  "\x9b31m",
  "\x07",
  "\r",
  "\t",
  "\u202e",
  "\u2066",
  "\u200b",
  "\u2028",
  "\ud800",
  "\x7f",
  "\x00",
];
/** Characters that a terminal would interpret, except line ends and tabs, which tables consist of. */
const obeyed = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?![\n\t])\p{Cc}/u;
const text = fc
  .array(fc.oneof(fc.constantFrom(...hostile, "\n"), fc.string()), { maxLength: 4 })
  .map((parts) => parts.join(""));

describe("displaySafe", () => {
  it("writes out what a terminal would obey, and nothing else", () => {
    expect(displaySafe("a\x1b[31m\x9b\u202eb\n\t")).toBe("a\\x1b[31m\\x9b\\u{202e}b\\x0a\\x09");
    expect(displaySafe("façade 層 🙂 a\\b")).toBe("façade 層 🙂 a\\b");
  });
});

describe("a table", () => {
  it("holds nothing that a terminal obeys, whatever is in its cells and headers", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 4 }),
        fc.tuple(text, text),
        fc.constantFrom("rst", "plain", "markdown"),
        (rows, headers, format) => {
          expect(formatTable(rows, { headers, format: format as "rst" })).not.toMatch(obeyed);
        },
      ),
    );
  });

  it("is as wide as what is shown", () => {
    expect(formatTable([["a\x1bb"], ["long name"]], { headers: ["x"] })).toBe(
      ["=========", "x", "=========", "a\\x1bb", "long name", "========="].join("\n"),
    );
  });
});
