import fc from "fast-check";
import { expect, it } from "vitest";
import { wrapText } from "../../src/text/index.js";

it("breaks a text between words, and keeps each of them", () => {
  expect(wrapText("one two three", 8)).toEqual(["one two", "three"]);
  expect(wrapText("one two three", 8, "  ")).toEqual(["one two", "  three"]);
  expect(wrapText("unbreakable word", 5)).toEqual(["unbreakable", "word"]);
  expect(wrapText("", 5)).toEqual([""]);
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), fc.integer({ min: 12, max: 60 }), (words, width) => {
      const lines = wrapText(words.join(" "), width);
      expect(lines.join(" ")).toBe(words.join(" "));
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      // Whatever begins a line had no room on the one before.
      for (let i = 1; i < lines.length; i++)
        expect(`${lines[i - 1]} ${lines[i].split(" ")[0]}`.length).toBeGreaterThan(width);
    }),
  );
});

it("takes time in proportion to the text", () => {
  const before = process.cpuUsage();
  const lines = wrapText("a ".repeat(2e6), 1e9);
  wrapText(" ".repeat(2e6), 80);
  wrapText("word ".repeat(5e5), 80, "  ");
  const { user, system } = process.cpuUsage(before);
  expect(lines).toHaveLength(1);
  // Measuring the line again for each word would take hours.
  expect((user + system) / 1e6).toBeLessThan(5);
});
