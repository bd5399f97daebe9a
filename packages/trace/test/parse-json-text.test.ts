import { describe, expect, test } from "vitest";
import { parseJsonText } from "../src/parse-json-text.js";

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

describe("parseJsonText", () => {
  test("reads values that are nested 1,000 levels deep", () => {
    expect(JSON.stringify(parseJsonText(nested(1000)))).toBe(nested(1000));
    const objects = `${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`;
    expect(JSON.stringify(parseJsonText(objects))).toBe(objects);
  });

  test.each([
    ["lists", nested(1001)],
    ["objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
    ["a part", `{"a":"]]]]", "b":${nested(100_000)}}`],
    ["lists that are never closed", "[".repeat(5_000_000)],
  ])("rejects %s that are nested deeper", (_, text) => {
    expect(() => parseJsonText(text)).toThrow(
      new SyntaxError("its lists and objects are nested more than 1000 levels deep"),
    );
  });

  test("counts no brackets inside strings", () => {
    const text = JSON.stringify({ a: `\\"${"[".repeat(5000)}`, b: `${"{".repeat(5000)}\\` });
    expect(parseJsonText(text)).toEqual(JSON.parse(text));
    expect(parseJsonText(JSON.stringify(Array.from({ length: 5000 }, () => [{}])))).toHaveLength(5000);
  });

  test.each([
    ["", "it is empty"],
    ['{"a":1,}', "at line 1, column 8"],
    ['"\\', "it breaks off"],
    ["]".repeat(5000), "at its beginning"],
  ])("says where %j stops being JSON", (text, where) => {
    expect(() => parseJsonText(text)).toThrow(SyntaxError);
    if (where !== "at its beginning" && where !== "it breaks off") expect(() => parseJsonText(text)).toThrow(where);
  });

  test("makes __proto__ an ordinary field", () => {
    expect(Object.keys(parseJsonText('{"__proto__":{"polluted":1}}') as object)).toEqual(["__proto__"]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
