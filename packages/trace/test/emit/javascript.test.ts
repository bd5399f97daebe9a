import { Script } from "node:vm";
import { type Node, parse as parseScript } from "acorn";
import * as fc from "fast-check";
import { parse as parsePage } from "parse5";
import { expect, test } from "vitest";
import { hostilePieces, hostileText } from "../../../../tooling/testkit/src/hostile-text.js";
import { type JavaScriptCode, javascript } from "../../src/emit/index.js";

const written = (name: string): JavaScriptCode =>
  javascript.lines([
    javascript.comment(name),
    javascript`globalThis.found = [${javascript.string(name)}, ${3}, ${true}];`,
    javascript`${javascript.comment(name)}`,
  ]);

/** Kinds of nodes, in order. */
function kindsOf(source: string): readonly string[] {
  const kinds: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === "object" && value !== null) {
      if ("type" in value) kinds.push((value as Node).type);
      Object.values(value).forEach(visit);
    }
  };
  visit(parseScript(source, { ecmaVersion: "latest", sourceType: "module" }));
  return kinds;
}

const plain = kindsOf(written("plain"));

function check(name: string): void {
  const source = written(name);
  expect(kindsOf(source)).toEqual(plain);
  const context: { found?: unknown } = {};
  new Script(source.replace("globalThis.", "")).runInNewContext(context);
  expect(Array.from(context.found as unknown[])).toEqual([name, 3, true]);
  // The same in a page: the script is one element, and ends where it should.
  const page = JSON.stringify(parsePage(`<script>${source}</script><p>after`), (key, value: unknown) =>
    key === "parentNode" || key === "value" ? undefined : value,
  );
  expect(page).toBe(plainPage);
}

const plainPage = JSON.stringify(parsePage(`<script>${written("plain")}</script><p>after`), (key, value: unknown) =>
  key === "parentNode" || key === "value" ? undefined : value,
);

test.each(hostilePieces)("JavaScript has the same structure with %j, and gives it back", check);

test("so with any text", () => {
  fc.assert(fc.property(hostileText, check));
});

test("an identifier is one, or is refused", () => {
  expect(javascript.identifier("$a_1")).toBe("$a_1");
  for (const name of ["", "1a", "a.b", "a b", "a\n", "class", "a;b", "a}"])
    expect(() => javascript.identifier(name), name).toThrow("is not a JavaScript identifier");
});

test("a hole in a string or a comment is refused", () => {
  const name = javascript.string("a");
  expect(() => javascript`x = "${name}"`).toThrow("within a string");
  expect(() => javascript`x = \`${name}\``).toThrow("within a string");
  expect(() => javascript`/* ${name} */`).toThrow("within a comment");
  expect(() => javascript`${javascript.comment("a")}; f()`).toThrow("not at the end of its line");
});
