import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { goldensFolder } from "@remat/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkGoldens, comparisons } from "../src/index.js";

test("every golden of the folder agrees", { timeout: 120_000 }, () => {
  const checked = [...checkGoldens({ folder: goldensFolder, comparisons })];
  expect(checked.filter(({ difference }) => difference !== undefined)).toEqual([]);
  expect(checked.length).toBeGreaterThan(0);
});

describe("a folder", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "goldens-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (name: string, content: object | string) =>
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  const known = {
    "a/1": [() => undefined, (golden: { schema: string }) => (golden as unknown as { wrong?: string }).wrong],
    "list/1": [() => ["first", "second"]],
    "raises/1": [
      () => {
        throw new Error("boo");
      },
    ],
    "none/1": [],
  };
  const check = (words?: string[]) =>
    Object.fromEntries(
      Array.from(checkGoldens({ folder, comparisons: known, ...(words && { words }) }), ({ name, difference }) => [name, difference]),
    );

  test("gets a line for each file, with the first difference", () => {
    write("agrees.json", { schema: "a/1" });
    write("differs.json", { schema: "a/1", wrong: "memory 1, ours 2" });
    write("list.json", { schema: "list/1" });
    writeFileSync(join(folder, "packed.json.gz"), gzipSync(JSON.stringify({ schema: "a/1" })));
    expect(check()).toEqual({ agrees: undefined, differs: "memory 1, ours 2", list: "first", packed: undefined });
  });

  test("with a schema that nothing compares fails", () => {
    write("new.json", { schema: "new/1" });
    write("none.json", { schema: "none/1" });
    write("no-schema.json", {});
    write("prototype.json", { schema: "constructor" });
    expect(check()).toEqual({
      new: 'schema "new/1": no comparison knows it',
      none: 'schema "none/1": no comparison knows it',
      "no-schema": "schema undefined: no comparison knows it",
      prototype: 'schema "constructor": no comparison knows it',
    });
  });

  test("with a file that cannot be read or compared fails there and goes on", () => {
    write("a.json", "{");
    write("b.json", { schema: "raises/1" });
    write("c.json", { schema: "a/1" });
    expect(check()).toEqual({ a: expect.stringMatching(/^raised SyntaxError/), b: "raised Error: boo", c: undefined });
  });

  test("can be narrowed to some names", () => {
    write("sac_a.json", { schema: "a/1" });
    write("mem_a.json", { schema: "a/1" });
    expect(Object.keys(check(["mem"]))).toEqual(["mem_a"]);
  });
});
