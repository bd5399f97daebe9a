import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hostilePieces, hostileText } from "../../../../tooling/testkit/src/hostile-text.js";
import { json as builtJson, terminal } from "../../src/emit/index.js";

/** Characters that a terminal interprets, hides, or reorders. */
const obeyed = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

function check(name: string): void {
  const line = terminal`remat: ${name} says ${1}\n`;
  expect(line.endsWith(" says 1\n")).toBe(true);
  expect(line.slice(0, -1)).not.toMatch(obeyed);
  const lines = terminal.lines([name, "b", name]).split("\n");
  expect(lines).toHaveLength(4);
  expect(lines.join("")).not.toMatch(obeyed);
  expect(terminal.styled(name, "bold").replace(/^\u001b\[1m|\u001b\[22m$/g, "")).not.toMatch(obeyed);
  expect(terminal.listing(name).replace(/[\n\t]/g, "")).not.toMatch(obeyed);
  const json = builtJson`{ "a": ${builtJson.value({ [name]: [name] }, 2)} }`;
  expect(json.replaceAll("\n", "")).not.toMatch(obeyed);
  expect(JSON.parse(json)).toEqual({ a: { [name]: [name] } });
}

test.each(hostilePieces)("a terminal shows %j and obeys nothing of it", check);

test("so with any text", () => {
  fc.assert(fc.property(hostileText, check));
});

test("a text that holds nothing of the kind stays as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => {
      expect(terminal`${text}`).toBe(text);
    }),
  );
});
